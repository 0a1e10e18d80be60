import type { Replica } from '../../model/kinds/replica.js';
import type { Objects } from '../../model/ports.js';
import type { Slots } from './slot-wishes.js';
import { controllerUidOf } from './workload-operations.js';

const noSlots: Slots = new Map();

/**
 * The replicas of every workload by slot, newest first, kept current by their changes: a look at a workload with
 * 100,000 replicas does not put them together anew. It may be a moment behind the cache; what is decided from it the
 * authority checks again.
 */
export class SlotIndex {
  // By the uid of the workload: not those of one that had its name before. Lists are replaced, never changed.
  readonly #workloads = new Map<string, Map<string, readonly Replica[]>>();

  constructor(private readonly objects: Pick<Objects, 'follow' | 'list'>) {}

  /** Follows changes until the signal aborts. Start it before the controllers that read it. */
  start(signal: AbortSignal): void {
    this.objects.follow(
      ({ type, kind, object }) => {
        if (kind !== 'Replica') return;
        // A parsed boundary: the kind says so.
        if (type === 'DELETED') this.#put(object as Replica, false);
        else this.#put(object as Replica, true);
      },
      () => this.#fill(),
      signal,
    );
    this.#fill();
  }

  slotsOf(workloadUid: string): Slots {
    return this.#workloads.get(workloadUid) ?? noSlots;
  }

  #fill(): void {
    this.#workloads.clear();
    for (const replica of this.objects.list<Replica>('Replica')) this.#put(replica, true);
  }

  #put(replica: Replica, isThere: boolean): void {
    const owner = controllerUidOf(replica);
    if (owner === undefined) return;
    const slots = this.#workloads.get(owner) ?? new Map<string, readonly Replica[]>();
    const { slot } = replica.spec;
    const others = (slots.get(slot) ?? []).filter(({ metadata }) => metadata.name !== replica.metadata.name);
    const inSlot = isThere ? [...others, replica] : others;
    if (inSlot.length > 1) inSlot.sort((a, b) => b.spec.incarnation - a.spec.incarnation);
    if (inSlot.length > 0) slots.set(slot, inSlot);
    else slots.delete(slot);
    if (slots.size > 0) this.#workloads.set(owner, slots);
    else this.#workloads.delete(owner);
  }
}
