import assert from 'node:assert';
import type { ObjectCache } from '../objects/object-cache.js';
import type { Codec } from '../objects/codec.js';
import { asRevision, type Entry, type Guard, type Revision } from '../store/contract.js';
import type { Seen, View } from './draft.js';

/** What the cache does not show yet: written by a transaction under way (no revision), or known to be so since a revision. */
export class Ahead implements Seen {
  constructor(
    readonly key: string,
    readonly value: unknown,
    public revision: Revision | undefined,
    /** Undefined while it is not known: then `createdBy` is the transaction that will tell. */
    public createRevision: Revision | undefined,
    /** While it is under way, and no longer: they share their memory with others. */
    public bytes: Uint8Array | undefined,
    readonly createdBy: number,
    /** The transaction under way that writes it. */
    readonly batch: number,
    /** What was known before it, and stands again if it fails: the cache may not show that yet either. */
    public before: Ahead | undefined,
  ) {}
}

const notThere: Seen = { value: undefined, revision: asRevision(0), createRevision: asRevision(0) };

// Past this many keys ahead of the cache, those that the cache has reached are dropped.
const sweepAtLeast = 4_096;
const noBatch = -1;

/**
 * The store as the authority sees it while it decides: the cache, and on top of it what the authority knows to be
 * newer. Being wrong is safe, since every decision is guarded on what this showed; being behind costs a retry.
 *
 * A key that a transaction under way writes is guarded by its value, because its revision is not known yet. The
 * same value means the same decision, whoever wrote it.
 */
export class CommitView implements View {
  readonly #ahead = new Map<string, Ahead>();
  #sweepAt = sweepAtLeast;
  // Every transition names it: written out once for each revision, not for each operation.
  #version = -1;
  #shownVersion = '';

  constructor(
    private readonly cache: ObjectCache,
    private readonly codec: Codec,
  ) {}

  get version(): string {
    const { version } = this.cache;
    if (version !== this.#version) {
      this.#version = version;
      this.#shownVersion = String(version);
    }
    return this.#shownVersion;
  }

  versionOf(revision: Revision): number {
    return this.cache.versions.ofObject(revision);
  }

  see(key: string): Seen {
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined) {
      if (ahead.revision === undefined || ahead.revision > this.cache.revision) return ahead;
      this.#ahead.delete(key);
    }
    return this.cache.record(key) ?? notThere;
  }

  /** Holds exactly while the store has what was seen. */
  guardOf(key: string, seen: Seen): Guard {
    if (seen.value === undefined) return { kind: 'absent', key };
    if (seen.revision !== undefined) return { kind: 'unchanged', key, modRevision: seen.revision };
    assert(seen instanceof Ahead && seen.bytes !== undefined);
    return { kind: 'value', key, value: seen.bytes };
  }

  /** A transaction was sent: what it writes is what comes next, unless it fails. */
  sent(batch: number, key: string, value: unknown, bytes: Uint8Array | undefined, before: Seen): Ahead {
    const isNew = before.value === undefined;
    const createdBy = isNew ? batch : before instanceof Ahead ? before.createdBy : noBatch;
    const createRevision = isNew ? undefined : before.createRevision;
    const last = before instanceof Ahead ? before : undefined;
    const ahead = new Ahead(key, value, undefined, createRevision, bytes, createdBy, batch, last);
    this.#ahead.set(key, ahead);
    return ahead;
  }

  committed(written: readonly Ahead[], revision: Revision): void {
    for (const ahead of written) {
      ahead.revision = revision;
      ahead.bytes = undefined;
      ahead.before = undefined;
      if (ahead.createdBy !== ahead.batch) continue;
      ahead.createRevision = revision;
      // Those that built on it while it was under way did not know.
      const last = this.#ahead.get(ahead.key);
      if (last?.createdBy === ahead.batch) last.createRevision ??= revision;
    }
    if (this.#ahead.size > this.#sweepAt) this.#sweep();
  }

  /** It failed, or nobody knows: what it was to write is not to be built on. */
  forgotten(written: readonly Ahead[]): void {
    for (const ahead of written) {
      if (ahead.revision !== undefined || this.#ahead.get(ahead.key) !== ahead) continue;
      let before = ahead.before;
      while (before !== undefined && before.revision === undefined) before = before.before;
      if (before === undefined) this.#ahead.delete(ahead.key);
      else this.#ahead.set(ahead.key, before);
    }
  }

  /** What a failed guard found, at the revision it was found at. */
  learned(key: string, current: Entry | undefined, at: Revision): void {
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined && ahead.revision === undefined) return;
    const revision = current === undefined ? at : current.modRevision;
    // The cache has it, or shows it since before.
    if (revision <= this.cache.revision || revision <= (ahead?.revision ?? 0)) return;
    const value = current === undefined ? undefined : this.codec.decode(current.value);
    this.#ahead.set(
      key,
      new Ahead(key, value, revision, current?.createRevision, undefined, noBatch, noBatch, undefined),
    );
  }

  #sweep(): void {
    for (const [key, { revision }] of this.#ahead)
      if (revision !== undefined && revision <= this.cache.revision) this.#ahead.delete(key);
    // Twice what is left, so that a cache that lags does not make every commit sweep in vain.
    this.#sweepAt = Math.max(sweepAtLeast, this.#ahead.size * 2);
  }
}
