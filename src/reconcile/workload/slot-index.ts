import type { Replica } from '../../model/kinds/replica.js';
import type { Objects } from '../../model/ports.js';
import { ChangingSlot, type Slots } from './slot.js';
import { workloadKeyOf } from './workload-keys.js';
import { controllerUidOf } from './workload-operations.js';

/** Replicas that say they are of one workload, and have one owner. */
interface Owned {
  readonly tenant: string | undefined;
  readonly workload: string;
  readonly uid: string;
  readonly slots: Map<string, ChangingSlot>;
  /** How many of them are of which revision. */
  readonly revisions: Map<string, { count: number }>;
}

const noSlots: Slots = new Map();
const nobody = '';
const ofReplicas: ReadonlySet<string> = new Set(['Replica']);

/**
 * The replicas of every workload by slot, newest first, kept current by their changes: a look at a workload with
 * 100,000 replicas does not put them together anew. It may be a moment behind the cache; what is decided from it the
 * authority checks again.
 */
export class SlotIndex {
  // By the key of the workload, then by the uid of their owner: a workload may be gone, or another may have its name.
  readonly #workloads = new Map<string, Map<string, Owned>>();
  // The one that a replica was looked for last in, if it is still there: changes of one workload come together.
  #last: Owned | undefined;
  // Of the last change of a replica that it was told: it has all of them up to there, and none after it.
  #version = 0;
  #following = new AbortController();
  #users = 0;

  constructor(private readonly objects: Pick<Objects, 'follow' | 'list' | 'version'>) {}

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
        // One that was deleted still has the version it had.
        if (change.type !== 'DELETED') this.#version = change.version;
        if (change.type === 'DELETED') this.#remove(replica);
        else if (before !== undefined && isOwnedAlike(before, replica)) this.#replace(replica);
        else {
          if (before !== undefined) this.#remove(before);
          this.#add(replica);
        }
      },
      () => this.#fill(),
      this.#following.signal,
      ofReplicas,
    );
    this.#fill();
  }

  /** The revision at which its replicas stand. */
  get version(): number {
    return this.#version;
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
      if (uid !== workloadUid) for (const { newest, older } of slots.values()) yield* [newest, ...older];
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
    this.#clear();
  }

  #fill(): void {
    this.#clear();
    this.#version = Number(this.objects.version);
    for (const replica of this.objects.list<Replica>('Replica')) this.#add(replica);
  }

  #clear(): void {
    this.#workloads.clear();
    this.#last = undefined;
  }

  #replace(replica: Replica): void {
    const slot = this.#ownedWith(replica)?.slots.get(replica.spec.slot);
    if (slot?.replace(replica) !== true) this.#add(replica);
  }

  #add(replica: Replica): void {
    const owned = this.#ownedWith(replica) ?? this.#newOwned(replica);
    const { slot: name, revision } = replica.spec;
    const slot = owned.slots.get(name);
    // One that is known already is put in place of itself.
    if (slot?.has(replica) === true) {
      this.#remove(replica);
      return this.#add(replica);
    }
    if (slot === undefined) owned.slots.set(name, new ChangingSlot(replica));
    else slot.add(replica);
    const referred = owned.revisions.get(revision);
    if (referred === undefined) owned.revisions.set(revision, { count: 1 });
    else referred.count += 1;
  }

  #remove(replica: Replica): void {
    const owned = this.#ownedWith(replica);
    const { slot: name, revision } = replica.spec;
    const slot = owned?.slots.get(name);
    if (owned === undefined || slot?.has(replica) !== true) return;
    if (slot.older.length > 0) slot.remove(replica);
    else owned.slots.delete(name);
    const referred = owned.revisions.get(revision);
    if (referred !== undefined && (referred.count -= 1) === 0) owned.revisions.delete(revision);
    if (owned.slots.size > 0) return;
    const key = workloadKeyOf(replica);
    const owners = this.#workloads.get(key);
    owners?.delete(owned.uid);
    if (owners?.size === 0) this.#workloads.delete(key);
    this.#last = undefined;
  }

  #ownedWith(replica: Replica): Owned | undefined {
    const last = this.#last;
    const uid = controllerUidOf(replica) ?? nobody;
    const isLast =
      last?.uid === uid &&
      last.workload === replica.spec.workload &&
      last.tenant === replica.metadata.namespace;
    if (isLast) return last;
    const owned = this.#workloads.get(workloadKeyOf(replica))?.get(uid);
    this.#last = owned ?? last;
    return owned;
  }

  #newOwned(replica: Replica): Owned {
    const { workload } = replica.spec;
    const uid = controllerUidOf(replica) ?? nobody;
    const tenant = replica.metadata.namespace;
    const owned: Owned = { tenant, workload, uid, slots: new Map(), revisions: new Map() };
    const key = workloadKeyOf(replica);
    const owners = this.#workloads.get(key) ?? new Map<string, Owned>();
    owners.set(uid, owned);
    this.#workloads.set(key, owners);
    this.#last = owned;
    return owned;
  }
}

// Another one of the same name is not the same, and may be of another revision: after a gap its coming and the going of
// the one before it are one change.
const isOwnedAlike = (one: Replica, other: Replica): boolean =>
  one.metadata.uid === other.metadata.uid &&
  (one.metadata.ownerReferences === other.metadata.ownerReferences ||
    controllerUidOf(one) === controllerUidOf(other));
