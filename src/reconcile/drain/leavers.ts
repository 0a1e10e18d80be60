import type { Env } from '../../env/env.js';
import { type MonotonicInstant, msBetween } from '../../env/instant.js';
import type { Slots } from '../workload/slot.js';
import { stageOf } from '../workload/slot-wishes.js';

// An eviction whose outcome is not known is asked for again every two seconds while its drain goes on. When the drain was
// ended instead, it counts for so long.
const uncertainMs = 60_000;

/**
 * The replicas of one workload that a drain controller has asked to leave, and that its cache may still show as serving:
 * its own moves count from when they are sent, whatever its watch has told it.
 *
 * Invariant: while a look is open, nobody who was asked to leave is taken out because of what a newer look sees.
 */
export class Leavers {
  /** By uid: since when the outcome is uncertain; undefined: it is certain that it leaves. */
  readonly #uids = new Map<string, MonotonicInstant | undefined>();
  #looks = 0;

  constructor(private readonly env: Env) {}

  get isIdle(): boolean {
    return this.#looks === 0 && this.#uids.size === 0;
  }

  get size(): number {
    return this.#uids.size;
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  /** Begins to decide on these slots as they are seen now. */
  open(slots: Slots): void {
    if (this.#looks === 0 && this.#uids.size > 0) this.#prune(slots);
    this.#looks += 1;
  }

  close(): void {
    this.#looks -= 1;
  }

  asked(uid: string): void {
    this.#uids.set(uid, this.env.clock.monotonic());
  }

  left(uid: string): void {
    this.#uids.set(uid, undefined);
  }

  stays(uid: string): void {
    this.#uids.delete(uid);
  }

  #prune(slots: Slots): void {
    const serving = new Set<string>();
    for (const { newest, older } of slots.values())
      for (const replica of [newest, ...older])
        if (stageOf(replica) === 'Serving') serving.add(replica.metadata.uid);
    const now = this.env.clock.monotonic();
    for (const [uid, since] of this.#uids)
      if (!serving.has(uid) || (since !== undefined && msBetween(since, now) > uncertainMs))
        this.#uids.delete(uid);
  }
}
