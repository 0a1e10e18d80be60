import { leaseKey } from '../../model/records.js';
import type { Commit } from './checker.js';

/**
 * A leader may act on a view that is this old: it leads for up to 12 s while it is cut off from the store, and its watch may
 * lag by 4 s after that.
 */
const unseenMs = 17_000;

/** When each lease was last taken or renewed, by the clock of the world. */
export class LeaseChanges {
  // The latest change that is older than `unseenMs`, and those after it.
  readonly #changes = new Map<string, number[]>();

  onCommit({ changes, atMs }: Commit): void {
    for (const { key, after } of changes) {
      if (after === undefined || !key.startsWith('/l/')) continue;
      const known = this.#changes.get(key) ?? [];
      known.push(atMs);
      while (known.length > 1 && (known[1] as number) <= atMs - unseenMs) known.shift();
      this.#changes.set(key, known);
    }
  }

  /** Infinity: never. */
  lastMs(lease: string): number {
    return this.#changes.get(leaseKey(lease))?.at(-1) ?? Number.POSITIVE_INFINITY;
  }

  /** The latest change that every leader must have seen by then. Infinity: the lease never changed. */
  seenMs(lease: string, atMs: number): number {
    const known = this.#changes.get(leaseKey(lease)) ?? [];
    return known.findLast((changeMs) => changeMs <= atMs - unseenMs) ?? known[0] ?? Number.POSITIVE_INFINITY;
  }
}
