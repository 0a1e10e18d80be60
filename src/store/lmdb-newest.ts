import { asRevision, type Revision } from './contract.js';
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

/** What judging asks of the files. Neither may wait. */
export interface NewestOnDisk {
  /** The newest version of a key that the files show, tombstones included. */
  current(key: string): Version | undefined;
  /** The first so many keys from this one on, in order, tombstones included. */
  keysFrom(from: string, count: number): readonly string[];
}

// Some 150 bytes each. At the bound all that are on disk are let go and looked up anew.
const knownMax = 500_000;
// At the bound the deletions are looked up anew.
const deletionsMax = 100_000;
// So many keys that were not there have to be asked for until it is worth while to learn all that are.
const absencesMin = 1_000;
// Where they were too many to be known it is tried again after so many more.
const absencesTillNextTry = 10 * knownMax;
// Some half a millisecond of learning.
const learnedAtOnce = 500;
// A key that is written has a guard at most so many places after that of the key before it, or it is looked up again.
const placesAhead = 8;

// Stands for whatever is on disk: the key is there, or was when its name was read, and nobody has asked for it yet.
const unread = new Newest('', false, asRevision(0), asRevision(0), undefined);

/**
 * What judging looks at: the newest version of each key, with the batches that are not on disk yet. Every write of
 * this store goes through one process, so what is known stays true until the next write, and most guards are judged
 * by one look into memory: neither the disk nor one map for each batch is asked.
 *
 * Invariants:
 * - What is known is either on disk or written by a batch that is being formed or flushed. A deletion is known until a
 *   compaction drops it from disk.
 * - Once `#isComplete`, every key on disk is known, if only by name: a key that is not known is not there, not even as
 *   deleted. Whoever creates much would otherwise ask the disk for each new key, only to hear that.
 */
export class LmdbNewest {
  readonly #known = new Map<string, Newest>();
  // Written by the batches that are not on disk yet, the older batch first.
  #unflushed: Newest[] = [];
  // Deletions that are on disk, and were the newest of their keys when they came there.
  #deletions: Newest[] = [];
  #isComplete = false;
  // How many keys were asked for on disk and not there.
  #absences = 0;
  // All keys on disk before this one are known.
  #learnFrom = '';
  // What the transaction that is being judged has asked for so far, in order. The writes come in the same order as the
  // guards, so for most keys a look at the next one here saves one into the large map.
  readonly #askedKeys: string[] = [];
  readonly #asked: (Newest | undefined)[] = [];
  #askedCount = 0;
  #askedNext = 0;

  constructor(private readonly disk: NewestOnDisk) {}

  /** Another transaction is judged from here on. */
  begin(): void {
    this.#askedCount = this.#askedNext = 0;
  }

  of(key: string): Newest | undefined {
    const newest = this.#lookUp(key);
    this.#askedKeys[this.#askedCount] = key;
    this.#asked[this.#askedCount] = newest;
    this.#askedCount += 1;
    return newest;
  }

  /** The same, of a key that the transaction writes, once, and has probably asked for before. */
  ofWritten(key: string): Newest | undefined {
    const end = Math.min(this.#askedCount, this.#askedNext + placesAhead);
    for (let place = this.#askedNext; place < end; place++) {
      if (this.#askedKeys[place] !== key) continue;
      this.#askedNext = place + 1;
      return this.#asked[place];
    }
    return this.#lookUp(key);
  }

  /** A transaction that has been judged writes this version of a key. `before` is what was known of the key. */
  write(
    before: Newest | undefined,
    key: string,
    isDeleted: boolean,
    modRevision: Revision,
    createRevision: Revision,
    value: Buffer,
  ): void {
    if (before === undefined || before.isDeleted) {
      const written = new Newest(key, isDeleted, modRevision, createRevision, value);
      this.#set(key, written);
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
      else {
        written.value = undefined;
        if (written.isDeleted && this.#known.get(written.key) === written) this.#holdDeletion(written);
      }
    }
    this.#unflushed = later;
  }

  /** The files have forgotten all deletions up to this revision. */
  compacted(upTo: Revision): void {
    const later: Newest[] = [];
    for (const deletion of this.#deletions) {
      if (deletion.modRevision > upTo) later.push(deletion);
      else if (this.#known.get(deletion.key) === deletion) this.#known.delete(deletion.key);
    }
    this.#deletions = later;
  }

  /** Nobody knows what is on disk now, and what was on its way there may not get there. */
  forget(): void {
    this.#letGo();
    this.#unflushed = [];
    this.#absences = 0;
  }

  /** Learns the names of some more keys that are on disk, if it is worth while and they are not all known. */
  learnSome(): void {
    if (this.#isComplete || this.#absences < absencesMin) return;
    const keys = this.disk.keysFrom(this.#learnFrom, learnedAtOnce);
    for (const key of keys) if (!this.#known.has(key)) this.#set(key, unread);
    // There are too many of them to know them all.
    if (this.#absences < absencesMin) return;
    if (keys.length < learnedAtOnce) this.#isComplete = true;
    else this.#learnFrom = `${keys.at(-1)}\0`;
  }

  #lookUp(key: string): Newest | undefined {
    const known = this.#known.get(key);
    if (known === undefined) return this.#isComplete ? undefined : this.#ask(key);
    if (known !== unread) return known;
    const found = this.#ask(key);
    // A compaction has dropped it since its name was read.
    if (found === undefined) this.#known.delete(key);
    return found;
  }

  #ask(key: string): Newest | undefined {
    const version = this.disk.current(key);
    if (version === undefined) {
      this.#absences += 1;
      return undefined;
    }
    const { isDeleted, modRevision, createRevision } = version;
    const found = new Newest(key, isDeleted, modRevision, createRevision, undefined);
    this.#set(key, found);
    if (isDeleted) this.#holdDeletion(found);
    return found;
  }

  #holdDeletion(deletion: Newest): void {
    if (this.#deletions.length >= deletionsMax) {
      for (const earlier of this.#deletions)
        if (this.#known.get(earlier.key) === earlier) this.#known.set(earlier.key, unread);
      this.#deletions = [];
    }
    this.#deletions.push(deletion);
  }

  #set(key: string, one: Newest): void {
    if (this.#known.size >= knownMax) {
      this.#letGo();
      for (const written of this.#unflushed) this.#known.set(written.key, written);
      // Not all can be known, so the disk is asked, until so much has come and gone that they may be fewer.
      this.#absences = -absencesTillNextTry;
    }
    this.#known.set(key, one);
  }

  #letGo(): void {
    this.#known.clear();
    this.#deletions = [];
    this.#isComplete = false;
    this.#learnFrom = '';
    // What was asked for may not be known any more, and then it must not be written to.
    this.begin();
  }
}
