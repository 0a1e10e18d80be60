import type { Revision } from './contract.js';
import type { Version } from './lmdb-layout.js';

/** The newest version of a key, be it on disk or on its way there: one object for as long as the key is known. */
export class Newest {
  constructor(
    readonly key: string,
    public isDeleted: boolean,
    public modRevision: Revision,
    public createRevision: Revision,
    /** Undefined once it is on disk, where it can be read. */
    public value: Buffer | undefined,
  ) {}
}

// What a few transactions create. At the bound all are let go and looked up anew.
const absentMax = 4_096;
// Some 150 bytes each. At the bound all that are on disk are let go and looked up anew.
const knownMax = 500_000;

/**
 * What judging looks at: the newest version of each key, with the batches that are not on disk yet. Every write of
 * this store goes through one process, so what is known stays true until the next write, and most guards are judged
 * by one look into memory: neither the disk nor one map for each batch is asked.
 *
 * Invariant: what is known is either on disk or written by a batch that is being formed or flushed. Keys whose
 * deletion is on disk are not known, because a compaction drops their versions.
 */
export class LmdbNewest {
  readonly #known = new Map<string, Newest>();
  // Written by the batches that are not on disk yet, the older batch first.
  #unflushed: Newest[] = [];
  // Keys that are not on disk, not even as deleted: what is created is asked for by its guard and again when it is put.
  // Only a write of this store puts them there, and takes them out of here.
  readonly #absent = new Set<string>();

  constructor(private readonly onDisk: (key: string) => Version | undefined) {}

  of(key: string): Newest | undefined {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#absent.has(key)) return undefined;
    const version = this.onDisk(key);
    if (version === undefined) {
      if (this.#absent.size >= absentMax) this.#absent.clear();
      this.#absent.add(key);
      return undefined;
    }
    const { isDeleted, modRevision, createRevision } = version;
    const found = new Newest(key, isDeleted, modRevision, createRevision, undefined);
    if (!isDeleted) this.#hold(found);
    return found;
  }

  /** A transaction that has been judged writes this version of a key. `before` is what was known of the key. */
  write(before: Newest | undefined, key: string, version: Version): void {
    const { isDeleted, modRevision, createRevision, value } = version;
    if (before === undefined || before.isDeleted) {
      this.#absent.delete(key);
      const written = new Newest(key, isDeleted, modRevision, createRevision, value);
      this.#hold(written);
      this.#unflushed.push(written);
      return;
    }
    // Once in the list is enough: what is unflushed has bytes, or is a deletion and did not come here.
    if (before.value === undefined) this.#unflushed.push(before);
    before.isDeleted = isDeleted;
    before.modRevision = modRevision;
    before.createRevision = createRevision;
    before.value = value;
  }

  /** All batches up to this revision are on disk. */
  flushed(upTo: Revision): void {
    const later: Newest[] = [];
    for (const written of this.#unflushed) {
      if (written.modRevision > upTo) later.push(written);
      else if (!written.isDeleted) written.value = undefined;
      else if (this.#known.get(written.key) === written) this.#known.delete(written.key);
    }
    this.#unflushed = later;
  }

  /** Nobody knows what is on disk now, and what was on its way there may not get there. */
  forget(): void {
    this.#known.clear();
    this.#absent.clear();
    this.#unflushed = [];
  }

  #hold(one: Newest): void {
    if (this.#known.size >= knownMax) {
      this.#known.clear();
      for (const written of this.#unflushed) this.#known.set(written.key, written);
    }
    this.#known.set(one.key, one);
  }
}
