import type { LmdbBatch } from './lmdb-batch.js';
import type { Stamp, Version } from './lmdb-layout.js';

// Some 100 bytes each. At the bound all are let go and looked up anew.
const stampsMax = 500_000;

/**
 * The stamps of keys as they are on disk. Every write of this store goes through one process, so a stamp stays true
 * until a batch that changes it has been flushed: most guards are judged by one look into memory.
 *
 * Invariant: a stamp that is held is that of the newest version on disk. Deleted keys are not held, because a
 * compaction drops their versions.
 */
export class LmdbStamps {
  readonly #known = new Map<string, Stamp>();

  constructor(private readonly onDisk: (key: string) => Version | undefined) {}

  of(key: string): Stamp | undefined {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const version = this.onDisk(key);
    if (version !== undefined && !version.isDeleted) this.#hold(key, version);
    return version;
  }

  /** The batch is on disk. */
  flushed(batch: LmdbBatch): void {
    for (const [key, version] of batch.overlay) {
      if (version.isDeleted) this.#known.delete(key);
      else this.#hold(key, version);
    }
  }

  /** Nobody knows what is on disk now. */
  forget(): void {
    this.#known.clear();
  }

  #hold(key: string, { isDeleted, modRevision, createRevision }: Version): void {
    if (this.#known.size >= stampsMax) this.#known.clear();
    this.#known.set(key, { isDeleted, modRevision, createRevision });
  }
}
