import { isBerthError } from '../model/errors.js';
import type { ObjectChange } from '../model/ports.js';
import type { Revision } from '../store/contract.js';
import type { ObjectCache } from './object-cache.js';

interface Follower {
  readonly onChange: (change: ObjectChange) => void;
  readonly onGap: () => void;
  /** Undefined: all. */
  readonly kinds: ReadonlySet<string> | undefined;
  /** It is told of what comes after this. */
  after: Revision;
  isOver: boolean;
}

/**
 * Many who follow the changes of a cache, told from one watch, in the order in which they began. A change is told only to
 * those who asked for its kind: a dozen controllers follow a hundred thousand replicas, and most changes concern two or
 * three of them.
 */
export class Followers {
  readonly #all = new Set<Follower>();
  // Made when a kind is met, and anew when somebody comes or goes.
  readonly #byKind = new Map<string, readonly Follower[]>();
  #stop = new AbortController();

  constructor(private readonly cache: ObjectCache) {}

  add(
    onChange: Follower['onChange'],
    onGap: Follower['onGap'],
    signal: AbortSignal,
    kinds: Follower['kinds'],
  ): void {
    if (signal.aborted) return;
    const follower: Follower = { onChange, onGap, kinds, after: this.cache.revision, isOver: false };
    this.#all.add(follower);
    this.#byKind.clear();
    signal.addEventListener('abort', () => this.#leave(follower), { once: true });
    if (this.#all.size > 1) return;
    this.#stop = new AbortController();
    // Begun before this returns, so that nothing is missed in between.
    void this.#tell(this.#watch(this.#stop.signal), this.#stop.signal);
  }

  #leave(follower: Follower): void {
    follower.isOver = true;
    this.#all.delete(follower);
    this.#byKind.clear();
    if (this.#all.size === 0) this.#stop.abort();
  }

  #watch(signal: AbortSignal): ReturnType<ObjectCache['watch']> {
    return this.cache.watch({ after: this.cache.revision, signal });
  }

  async #tell(first: ReturnType<ObjectCache['watch']>, signal: AbortSignal): Promise<void> {
    let watch = first;
    while (!signal.aborted) {
      try {
        for await (const sets of watch)
          for (const { revision, changes } of sets)
            for (const change of changes)
              for (const follower of this.#of(change.kind))
                if (revision > follower.after && !follower.isOver) this.#tellOne(follower, change);
      } catch (error) {
        if (isBerthError(error, 'StoreClosed')) return;
      }
      if (signal.aborted) return;
      const after = this.cache.revision;
      watch = this.#watch(signal);
      for (const follower of this.#all) {
        follower.after = after;
        follower.onGap();
      }
    }
  }

  /** One that fails has missed something; the others have not. */
  #tellOne(follower: Follower, change: ObjectChange): void {
    try {
      follower.onChange(change);
    } catch {
      follower.after = this.cache.revision;
      follower.onGap();
    }
  }

  #of(kind: string): readonly Follower[] {
    let followers = this.#byKind.get(kind);
    if (followers === undefined) {
      followers = [...this.#all].filter(({ kinds }) => kinds === undefined || kinds.has(kind));
      this.#byKind.set(kind, followers);
    }
    return followers;
  }
}
