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
  currentTag,
  encodeMeta,
  encodeVersion,
  logKey,
  loggedChangeBytes,
  logTag,
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
const noRevision = asRevision(0);
const operationHeaderBytes = 6;
const initialBytes = 64 * 1024;
// A batch that had to be larger than this gives its memory back.
const keptBytesMax = 8 * 1024 * 1024;

/** Memory for a batch: that of an earlier one, if there is any and it was not exceptionally large. */
export const batchMemory = (used?: ArrayBuffer): Buffer<ArrayBuffer> =>
  used === undefined || used.byteLength === 0 || used.byteLength > keptBytesMax
    ? Buffer.allocUnsafeSlow(initialBytes)
    : Buffer.from(used);

/**
 * The transactions that will share one flush. Evaluating a transaction encodes it straight into the buffer
 * that the writer thread receives (put: key length, value length, key, value), so that the hot path makes
 * no object per record. A log record comes after the current records that it logs, and without a value: the writer
 * thread makes it of theirs, so that values are copied once on the main thread.
 */
export class LmdbBatch {
  readonly sets: ChangeSet[] = [];
  readonly answers: Answer[] = [];
  transactions = 0;
  #buffer: Buffer<ArrayBuffer>;
  #used = 0;
  #logBytes = 0;

  /** `memory` is the batch's from now on. */
  constructor(memory = batchMemory()) {
    this.#buffer = memory;
  }

  /** What will be written, with what the writer thread makes of it. */
  get bytes(): number {
    return this.#used + this.#logBytes;
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
    const changes: Change[] = [];
    for (const write of writes) {
      const { key } = write;
      const replaced = newest.ofWritten(key);
      const isThere = replaced !== undefined && !replaced.isDeleted;
      const isDeleted = write.kind === 'delete';
      if (isDeleted && !isThere) continue;
      // The log no longer holds a version this old, so it must go where reads at a past revision find it.
      if (isThere && replaced.modRevision <= compacted) {
        const whole = onDisk(key);
        if (whole !== undefined) this.#put(baseKey(key), encodeVersion(whole));
      }
      const createRevision = isThere ? replaced.createRevision : revision;
      const value = isDeleted ? nothing : asBuffer(write.value);
      const headerAt = this.#putCurrent(key, value);
      const previous = replaced === undefined ? noRevision : replaced.modRevision;
      writeVersionHeader(this.#buffer, headerAt, isDeleted, revision, createRevision, previous);
      newest.write(replaced, key, isDeleted, revision, createRevision, value);
      changes.push(
        isDeleted
          ? { kind: 'delete', key }
          : { kind: 'put', entry: { key, value, createRevision, modRevision: revision } },
      );
    }
    if (changes.length === 0) return false;
    this.#put(logKey(revision), nothing);
    this.sets.push({ revision, changes });
    this.transactions += 1;
    return true;
  }

  /** Closes the batch: what the writer thread is to put, in one transaction. */
  encode(revision: Revision, compacted: Revision): Uint8Array<ArrayBuffer> {
    this.#put(metaKey, encodeMeta(revision, compacted));
    return this.#buffer.subarray(0, this.#used);
  }

  /** Returns where the header goes. */
  #putCurrent(key: string, value: Buffer): number {
    const [keyBytes, recordBytes] = [key.length + 1, versionHeaderBytes + value.length];
    const at = this.#begin(keyBytes, recordBytes);
    this.#buffer[at] = currentTag;
    this.#buffer.write(key, at + 1, 'latin1');
    const headerAt = at + keyBytes;
    this.#buffer.set(value, headerAt + versionHeaderBytes);
    this.#logBytes += loggedChangeBytes(keyBytes, recordBytes);
    return headerAt;
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

/** How many records an encoded batch puts, and how many bytes of them are the values of log records. */
export function sizeOf(batch: Buffer): { readonly records: number; readonly logBytes: number } {
  let [records, logBytes] = [0, 0];
  for (let at = 0; at < batch.length; records++) {
    const [keyBytes, valueBytes] = [batch.readUInt16LE(at), batch.readUInt32LE(at + 2)];
    if (batch[at + operationHeaderBytes] === currentTag) logBytes += loggedChangeBytes(keyBytes, valueBytes);
    at += operationHeaderBytes + keyBytes + valueBytes;
  }
  return { records, logBytes };
}

/** Calls `put` for every record of an encoded batch. `log` is memory for the values of its log records. */
export function forEachRecord(batch: Buffer, log: Buffer, put: (key: Buffer, value: Buffer) => void): void {
  let [loggedFrom, loggedTo] = [0, 0];
  for (let at = 0; at < batch.length;) {
    const keyAt = at + operationHeaderBytes;
    const valueAt = keyAt + batch.readUInt16LE(at);
    const end = valueAt + batch.readUInt32LE(at + 2);
    const [key, value] = [batch.subarray(keyAt, valueAt), batch.subarray(valueAt, end)];
    if (key[0] === logTag) {
      put(key, log.subarray(loggedFrom, loggedTo));
      loggedFrom = loggedTo;
    } else {
      if (key[0] === currentTag) loggedTo = writeLoggedChange(log, loggedTo, key, value);
      put(key, value);
    }
    at = end;
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
