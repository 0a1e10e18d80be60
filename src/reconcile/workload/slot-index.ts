import type { Replica } from '../../model/kinds/replica.js';
import type { Objects } from '../../model/ports.js';
import type { Slots } from './slot-wishes.js';
import { workloadKeyOf } from './workload-keys.js';
import { controllerUidOf } from './workload-operations.js';

/** Replicas that have one owner. */
interface Owned {
  // Lists are replaced, never changed.
  readonly slots: Map<string, readonly Replica[]>;
  /** How many of them are of which revision. */
  readonly revisions: Map<string, number>;
}

const noSlots: Slots = new Map();
const nobody = '';

/**
 * The replicas of every workload by slot, newest first, kept current by their changes: a look at a workload with
 * 100,000 replicas does not put them together anew. It may be a moment behind the cache; what is decided from it the
 * authority checks again.
 */
export class SlotIndex {
  // By the key of the workload, then by the uid of their owner: a workload may be gone, or another may have its name.
  readonly #workloads = new Map<string, Map<string, Owned>>();
  #following = new AbortController();
  #users = 0;

  constructor(private readonly objects: Pick<Objects, 'follow' | 'list'>) {}

  /** Follows changes until the signals of all that have started it abort. Start it before who reads it. */
  start(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#users += 1;
    signal.addEventListener('abort', () => this.#leave(), { once: true });
    if (this.#users > 1) return;
    this.#following = new AbortController();
    this.objects.follow(
      (change) => {
        if (change.kind !== 'Replica') return;
        // A parsed boundary: the kind says so.
        const replica = change.object as Replica;
        const before = change.before as Replica | undefined;
        if (change.type === 'DELETED') this.#remove(replica);
        else if (before !== undefined && controllerUidOf(before) === controllerUidOf(replica))
          this.#replace(replica);
        else {
          if (before !== undefined) this.#remove(before);
          this.#add(replica);
        }
      },
      () => this.#fill(),
      this.#following.signal,
    );
    this.#fill();
  }

  /** Of every workload that some replica says it is of, there or not. */
  get workloadKeys(): Iterable<string> {
    return this.#workloads.keys();
  }

  /** Those that belong to this very workload, not to one that had its name before. */
  slotsOf(workloadKey: string, workloadUid: string): Slots {
    return this.#workloads.get(workloadKey)?.get(workloadUid)?.slots ?? noSlots;
  }

  /** Those that say they are of this workload, and belong to another one or to nobody. */
  *strangersOf(workloadKey: string, workloadUid: string | undefined): Generator<Replica> {
    for (const [uid, { slots }] of this.#workloads.get(workloadKey) ?? [])
      if (uid !== workloadUid) for (const replicas of slots.values()) yield* replicas;
  }

  /** Whether a replica that says it is of this workload is of that revision. */
  isReferredTo(workloadKey: string, revision: string): boolean {
    for (const { revisions } of this.#workloads.get(workloadKey)?.values() ?? [])
      if (revisions.has(revision)) return true;
    return false;
  }

  #leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#following.abort();
    this.#workloads.clear();
  }

  #fill(): void {
    this.#workloads.clear();
    for (const replica of this.objects.list<Replica>('Replica')) this.#add(replica);
  }

  #replace(replica: Replica): void {
    const slots = this.#ownedWith(replica)?.slots;
    const inSlot = slots?.get(replica.spec.slot);
    const isKnown = inSlot?.some(({ metadata }) => metadata.name === replica.metadata.name) === true;
    if (!isKnown) this.#add(replica);
    else
      slots?.set(
        replica.spec.slot,
        inSlot.map((one) => (isSame(one, replica) ? replica : one)),
      );
  }

  #add(replica: Replica): void {
    // One that is known already is put in place of itself.
    this.#remove(replica);
    const key = workloadKeyOf(replica);
    const uid = controllerUidOf(replica) ?? nobody;
    const owners = this.#workloads.get(key) ?? new Map<string, Owned>();
    const owned: Owned = owners.get(uid) ?? { slots: new Map(), revisions: new Map() };
    owners.set(uid, owned);
    this.#workloads.set(key, owners);
    const { slot, revision } = replica.spec;
    const others = owned.slots.get(slot);
    owned.slots.set(
      slot,
      others === undefined
        ? [replica]
        : [...others, replica].toSorted((a, b) => b.spec.incarnation - a.spec.incarnation),
    );
    owned.revisions.set(revision, (owned.revisions.get(revision) ?? 0) + 1);
  }

  #remove(replica: Replica): void {
    const owned = this.#ownedWith(replica);
    const { slot, revision } = replica.spec;
    const inSlot = owned?.slots.get(slot);
    const others = inSlot?.filter((one) => !isSame(one, replica));
    if (owned === undefined || others === undefined || others.length === inSlot?.length) return;
    if (others.length > 0) owned.slots.set(slot, others);
    else owned.slots.delete(slot);
    const left = (owned.revisions.get(revision) ?? 0) - 1;
    if (left > 0) owned.revisions.set(revision, left);
    else owned.revisions.delete(revision);
    if (owned.slots.size > 0) return;
    const key = workloadKeyOf(replica);
    const owners = this.#workloads.get(key);
    owners?.delete(controllerUidOf(replica) ?? nobody);
    if (owners?.size === 0) this.#workloads.delete(key);
  }

  #ownedWith(replica: Replica): Owned | undefined {
    return this.#workloads.get(workloadKeyOf(replica))?.get(controllerUidOf(replica) ?? nobody);
  }
}

const isSame = (one: Replica, other: Replica): boolean => one.metadata.name === other.metadata.name;
