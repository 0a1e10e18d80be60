import type { ObjectCache } from '../objects/object-cache.js';
import type { Codec } from '../objects/codec.js';
import type { Entry, Guard, Revision } from '../store/contract.js';
import type { ViewEntry } from './draft.js';

/** What the cache does not show yet: written by a transaction under way (no revision), or known to be so since a revision. */
interface Ahead {
  readonly value: unknown;
  readonly bytes: Uint8Array | undefined;
  readonly revision: Revision | undefined;
  /** Undefined while it is not known: then `createdBy` is the transaction that will tell. */
  readonly createRevision: Revision | undefined;
  readonly createdBy: number;
  /** The transaction under way that writes it. */
  readonly batch: number;
}

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
export class CommitView {
  readonly #ahead = new Map<string, Ahead>();
  #sweepAt = sweepAtLeast;

  constructor(
    private readonly cache: ObjectCache,
    private readonly codec: Codec,
  ) {}

  get version(): string {
    return String(this.cache.version);
  }

  entry(key: string): ViewEntry {
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined) {
      if (ahead.revision === undefined || ahead.revision > this.cache.revision)
        return this.#entryAhead(key, ahead);
      this.#ahead.delete(key);
    }
    const record = this.cache.record(key);
    if (record === undefined)
      return {
        value: undefined,
        guard: { kind: 'absent', key },
        version: 0,
        createdVersion: 0,
        isInFlight: false,
      };
    return {
      value: record.value,
      guard: { kind: 'unchanged', key, modRevision: record.revision },
      version: this.cache.versionOf(record.revision),
      createdVersion: this.cache.versionOf(record.createRevision),
      isInFlight: false,
    };
  }

  /** A transaction was sent: what it writes is what comes next, unless it fails. */
  sent(batch: number, key: string, value: unknown, bytes: Uint8Array | undefined, before: ViewEntry): void {
    const isNew = before.value === undefined;
    const createRevision =
      isNew || before.createdVersion === undefined ? undefined : this.cache.revisionOf(before.createdVersion);
    const createdBy = isNew ? batch : (this.#ahead.get(key)?.createdBy ?? noBatch);
    this.#ahead.set(key, { value, bytes, revision: undefined, createRevision, createdBy, batch });
  }

  committed(batch: number, keys: Iterable<string>, revision: Revision): void {
    for (const key of keys) {
      const ahead = this.#ahead.get(key);
      if (ahead === undefined) continue;
      const isLast = ahead.batch === batch && ahead.revision === undefined;
      const isCreator = ahead.createdBy === batch && ahead.createRevision === undefined;
      if (!isLast && !isCreator) continue;
      this.#ahead.set(key, {
        ...ahead,
        ...(isLast && { revision }),
        ...(isCreator && { createRevision: revision }),
      });
    }
    if (this.#ahead.size > this.#sweepAt) this.#sweep();
  }

  /** It failed, or nobody knows: what it was to write is not to be built on. */
  forgotten(batch: number, keys: Iterable<string>): void {
    for (const key of keys) {
      const ahead = this.#ahead.get(key);
      if (ahead?.batch === batch && ahead.revision === undefined) this.#ahead.delete(key);
    }
  }

  /** What a failed guard found, at the revision it was found at. */
  learned(key: string, current: Entry | undefined, at: Revision): void {
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined && ahead.revision === undefined) return;
    const revision = current === undefined ? at : current.modRevision;
    // The cache has it, or shows it since before.
    if (revision <= this.cache.revision || revision <= (ahead?.revision ?? 0)) return;
    this.#ahead.set(key, {
      value: current === undefined ? undefined : this.codec.decode(current.value),
      bytes: current?.value,
      revision,
      createRevision: current?.createRevision,
      createdBy: noBatch,
      batch: noBatch,
    });
  }

  #entryAhead(key: string, ahead: Ahead): ViewEntry {
    const isInFlight = ahead.revision === undefined;
    if (ahead.value === undefined)
      return { value: undefined, guard: { kind: 'absent', key }, version: 0, createdVersion: 0, isInFlight };
    const guard: Guard =
      ahead.revision === undefined
        ? { kind: 'value', key, value: ahead.bytes as Uint8Array }
        : { kind: 'unchanged', key, modRevision: ahead.revision };
    return {
      value: ahead.value,
      guard,
      version: ahead.revision === undefined ? undefined : this.cache.versionOf(ahead.revision),
      createdVersion:
        ahead.createRevision === undefined ? undefined : this.cache.versionOf(ahead.createRevision),
      isInFlight,
    };
  }

  #sweep(): void {
    for (const [key, { revision }] of this.#ahead)
      if (revision !== undefined && revision <= this.cache.revision) this.#ahead.delete(key);
    // Twice what is left, so that a cache that lags does not make every commit sweep in vain.
    this.#sweepAt = Math.max(sweepAtLeast, this.#ahead.size * 2);
  }
}
