import {
  asRevision,
  type Change,
  type ChangeSet,
  type Revision,
  type TransactOutcome,
  type Write,
} from './contract.js';
import {
  baseKey,
  changeOf,
  currentTag,
  encodeMeta,
  encodeVersion,
  logKey,
  type LoggedChange,
  loggedChangeBytes,
  metaKey,
  type Version,
  versionHeaderBytes,
  writeLoggedChange,
  writeVersionHeader,
} from './lmdb-layout.js';
import type { LmdbNewest } from './lmdb-newest.js';

/** A caller that waits for its transaction's batch to be on disk. */
export interface Answer {
  readonly outcome: TransactOutcome;
  /** False for a transaction that wrote nothing: whatever becomes of the batch, it was not applied. */
  readonly wrote: boolean;
  readonly resolve: (outcome: TransactOutcome) => void;
  readonly reject: (error: Error) => void;
}

const nothing = Buffer.alloc(0);
const operationHeaderBytes = 6;
const initialBytes = 64 * 1024;
// A batch that had to be larger than this gives its memory back.
const keptBytesMax = 8 * 1024 * 1024;

/** Memory for a batch: that of an earlier one, if there is any and it was not exceptionally large. */
export const batchMemory = (used?: ArrayBuffer): Buffer<ArrayBuffer> =>
  used === undefined || used.byteLength === 0 || used.byteLength > keptBytesMax
    ? Buffer.allocUnsafeSlow(initialBytes)
    : Buffer.from(used);

/** A change while it is being added. */
class LoggedDraft implements LoggedChange {
  key = '';
  isDeleted = false;
  modRevision = asRevision(0);
  createRevision = asRevision(0);
  previous = asRevision(0);
  value: Buffer = nothing;
}

/**
 * The transactions that will share one flush. Evaluating a transaction encodes it straight into the buffer
 * that the writer thread receives (put: key length, value length, key, value), so that the hot path makes
 * no object per record.
 */
export class LmdbBatch {
  readonly sets: ChangeSet[] = [];
  readonly answers: Answer[] = [];
  transactions = 0;
  // What the transaction that is being added changes, used again for the next one.
  readonly #logged: LoggedDraft[] = [];
  #buffer: Buffer<ArrayBuffer>;
  #used = 0;

  /** `memory` is the batch's from now on. */
  constructor(memory = batchMemory()) {
    this.#buffer = memory;
  }

  get bytes(): number {
    return this.#used;
  }

  /**
   * Adds one transaction, and what it writes to what is newest. Returns false, adding nothing, if nothing would
   * change. `onDisk` is asked only for versions that no batch has replaced.
   */
  add(
    writes: readonly Write[],
    revision: Revision,
    compacted: Revision,
    newest: LmdbNewest,
    onDisk: (key: string) => Version | undefined,
  ): boolean {
    const logged = this.#logged;
    const changes: Change[] = [];
    let logBytes = 0;
    for (const write of writes) {
      const { key } = write;
      const replaced = newest.of(key);
      const isDeleted = write.kind === 'delete';
      if (isDeleted && (replaced === undefined || replaced.isDeleted)) continue;
      const change = (logged[changes.length] ??= new LoggedDraft());
      change.key = key;
      change.isDeleted = isDeleted;
      change.modRevision = revision;
      change.createRevision =
        replaced === undefined || replaced.isDeleted ? revision : replaced.createRevision;
      change.previous = replaced?.modRevision ?? asRevision(0);
      change.value = isDeleted ? nothing : asBuffer(write.value);
      // The log no longer holds a version this old, so it must go where reads at a past revision find it.
      if (replaced !== undefined && !replaced.isDeleted && replaced.modRevision <= compacted) {
        const whole = onDisk(key);
        if (whole !== undefined) this.#put(baseKey(key), encodeVersion(whole));
      }
      this.#putCurrent(key, change);
      newest.write(replaced, key, change);
      changes.push(changeOf(change));
      logBytes += loggedChangeBytes(key, change.value.length);
    }
    if (changes.length === 0) return false;
    this.#putLog(revision, changes.length, logBytes);
    this.sets.push({ revision, changes });
    this.transactions += 1;
    return true;
  }

  /** Closes the batch: what the writer thread is to put, in one transaction. */
  encode(revision: Revision, compacted: Revision): Uint8Array<ArrayBuffer> {
    this.#put(metaKey, encodeMeta(revision, compacted));
    return this.#buffer.subarray(0, this.#used);
  }

  #putCurrent(key: string, version: Version): void {
    const at = this.#begin(key.length + 1, versionHeaderBytes + version.value.length);
    this.#buffer[at] = currentTag;
    this.#buffer.write(key, at + 1, 'latin1');
    const valueAt = at + 1 + key.length;
    writeVersionHeader(this.#buffer, valueAt, version);
    this.#buffer.set(version.value, valueAt + versionHeaderBytes);
  }

  #putLog(revision: Revision, changes: number, bytes: number): void {
    const key = logKey(revision);
    let at = this.#begin(key.length, bytes);
    this.#buffer.set(key, at);
    at += key.length;
    for (let index = 0; index < changes; index++)
      at = writeLoggedChange(this.#buffer, at, this.#logged[index] as LoggedDraft);
  }

  #put(key: Buffer, value: Buffer): void {
    const at = this.#begin(key.length, value.length);
    this.#buffer.set(key, at);
    this.#buffer.set(value, at + key.length);
  }

  /** Makes room for one record, writes its lengths, and returns where its key goes. */
  #begin(keyBytes: number, valueBytes: number): number {
    const at = this.#used;
    const end = at + operationHeaderBytes + keyBytes + valueBytes;
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    this.#buffer.writeUInt16LE(keyBytes, at);
    this.#buffer.writeUInt32LE(valueBytes, at + 2);
    this.#used = end;
    return at + operationHeaderBytes;
  }
}

/** Calls `put` for every record of an encoded batch. */
export function forEachRecord(batch: Buffer, put: (key: Buffer, value: Buffer) => void): void {
  for (let at = 0; at < batch.length;) {
    const keyAt = at + operationHeaderBytes;
    const valueAt = keyAt + batch.readUInt16LE(at);
    const end = valueAt + batch.readUInt32LE(at + 2);
    put(batch.subarray(keyAt, valueAt), batch.subarray(valueAt, end));
    at = end;
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
