import type { Amount } from '../../model/amount.js';
import { type Cure, lowerOf, type Outranked, type ParkReason } from './cures.js';
import type { PendingQueue } from './pending-queue.js';
import { mostOf } from './room.js';

interface Cured {
  isForAll: boolean;
  readonly tenants: Set<string>;
  /** Of each resource the most that one change has left room for. */
  room: Amount | undefined;
  /** The lowest rank among replicas that became evictable. */
  above: Outranked | undefined;
}

/** Cures put together until it is time to wake: a thousand changes of a moment wake once. Bounded by tenants. */
export class CuresOfAMoment {
  readonly #byReason = new Map<ParkReason, Cured>();

  get size(): number {
    return this.#byReason.size;
  }

  /** The lowest rank among replicas that became evictable, if these are all there is; undefined if other cures are there. */
  get above(): Outranked | undefined {
    let lowest: Outranked | undefined;
    for (const { isForAll, tenants, room, above } of this.#byReason.values()) {
      if (isForAll || tenants.size > 0 || room !== undefined || above === undefined) return undefined;
      lowest = lowerOf(lowest, above);
    }
    return lowest;
  }

  add({ reasons, tenant, room, above }: Omit<Cure, 'change' | 'isFaint'>): void {
    for (const reason of reasons) {
      let cured = this.#byReason.get(reason);
      if (cured === undefined) {
        cured = { isForAll: false, tenants: new Set(), room: undefined, above: undefined };
        this.#byReason.set(reason, cured);
      }
      if (tenant !== undefined) cured.tenants.add(tenant);
      else if (above !== undefined) cured.above = lowerOf(cured.above, above);
      else if (room === undefined) cured.isForAll = true;
      else if (!cured.isForAll) cured.room = cured.room === undefined ? room : mostOf(cured.room, room);
    }
  }

  /** Wakes what they could cure, and forgets them. */
  wake(queue: Pick<PendingQueue, 'wake'>): void {
    for (const [reason, { isForAll, tenants, room, above }] of this.#byReason) {
      if (isForAll) queue.wake(reason);
      else {
        if (room !== undefined) queue.wake(reason, { room });
        if (above !== undefined) queue.wake(reason, { above });
      }
      for (const tenant of tenants) queue.wake(reason, { tenant });
    }
    this.#byReason.clear();
  }
}
