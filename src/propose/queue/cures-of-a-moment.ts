import type { Amount } from '../../model/amount.js';
import type { Reason } from '../../model/reasons.js';
import type { Cure } from './cures.js';
import type { PendingQueue } from './pending-queue.js';
import { mostOf } from './room.js';

interface Cured {
  isForAll: boolean;
  readonly tenants: Set<string>;
  /** Of each resource the most that one change has left room for. */
  room: Amount | undefined;
}

/** Cures put together until it is time to wake: a thousand changes of a moment wake once. Bounded by tenants. */
export class CuresOfAMoment {
  readonly #byReason = new Map<Reason, Cured>();

  get size(): number {
    return this.#byReason.size;
  }

  add({ reasons, tenant, room }: Omit<Cure, 'change' | 'isFaint'>): void {
    for (const reason of reasons) {
      let cured = this.#byReason.get(reason);
      if (cured === undefined) {
        cured = { isForAll: false, tenants: new Set(), room: undefined };
        this.#byReason.set(reason, cured);
      }
      if (tenant !== undefined) cured.tenants.add(tenant);
      else if (room === undefined) cured.isForAll = true;
      else if (!cured.isForAll) cured.room = cured.room === undefined ? room : mostOf(cured.room, room);
    }
  }

  /** Wakes what they could cure, and forgets them. */
  wake(queue: Pick<PendingQueue, 'wake'>): void {
    for (const [reason, { isForAll, tenants, room }] of this.#byReason) {
      if (isForAll) queue.wake(reason);
      else if (room !== undefined) queue.wake(reason, { room });
      for (const tenant of tenants) queue.wake(reason, { tenant });
    }
    this.#byReason.clear();
  }
}
