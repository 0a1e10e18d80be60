import type { Env } from '../../env/env.js';
import { msBetween, type MonotonicInstant } from '../../env/instant.js';

/**
 * How long ago this process first saw something, on its own clock: what deadlines are counted from (DESIGN §5).
 * A new leader has its own and counts again. It holds what its caller retains, so it stays as small as the cache.
 */
export class FirstSeen {
  readonly #groups = new Map<string, Map<string, MonotonicInstant>>();

  constructor(private readonly env: Env) {}

  ageMs(group: string, id: string): number {
    const now = this.env.clock.monotonic();
    let seen = this.#groups.get(group);
    if (seen === undefined) {
      seen = new Map();
      this.#groups.set(group, seen);
    }
    const first = seen.get(id);
    if (first !== undefined) return msBetween(first, now);
    seen.set(id, now);
    return 0;
  }

  /** Forgets what of the group is not among these. */
  retain(group: string, ids: Iterable<string>): void {
    const seen = this.#groups.get(group);
    if (seen === undefined) return;
    const kept = new Set(ids);
    for (const id of seen.keys()) if (!kept.has(id)) seen.delete(id);
    if (seen.size === 0) this.#groups.delete(group);
  }

  get size(): number {
    let size = 0;
    for (const seen of this.#groups.values()) size += seen.size;
    return size;
  }
}
