import assert from 'node:assert';
import { BerthError } from '../model/errors.js';
import type { ChangeSet, Entry, KeyRange, Revision } from './contract.js';
import { expired } from './history-errors.js';
import { asBuffer } from './lmdb-batch.js';
import { type LmdbHandle, type LmdbSync, openLmdb } from './lmdb-environment.js';
import {
  baseKey,
  changeOf,
  currentKey,
  currentTag,
  decodeLog,
  decodeMeta,
  decodeVersion,
  findInLog,
  formatVersion,
  liveEntry,
  logKey,
  type Meta,
  metaKey,
  revisionOfLogKey,
  userKeyOf,
  type Version,
} from './lmdb-layout.js';
import { historyBytesPerTurn, historySetsPerTurn } from './watch-hub.js';

/** A part of a range. If it did not reach the end or the limit, the rest begins at `resumeFrom`. */
export interface PartRead {
  readonly entries: readonly Entry[];
  readonly more: boolean;
  readonly resumeFrom: string | undefined;
}

// How many records a read looks at before it lets others run: a few milliseconds.
const stepsPerPart = 5_000;
const afterCurrent = Buffer.from([currentTag + 1]);

/** Reads of the lmdb store, on the main thread: the files are mapped into memory, so a read is a look-up. */
export class LmdbReader {
  private constructor(private readonly database: LmdbHandle) {}

  static open(dir: string, sync: LmdbSync): LmdbReader {
    const database = openLmdb(dir, sync);
    const record = database.getBinary(metaKey);
    if (record !== undefined && decodeMeta(asBuffer(record)) === undefined) {
      void database.close();
      const found = record[0] === formatVersion ? 'a damaged meta record' : `format ${record[0]}`;
      throw new BerthError(
        'StoreFormat',
        `the store in ${dir} has ${found}; this version of berth reads format ${formatVersion}`,
      );
    }
    return new LmdbReader(database);
  }

  /** Makes what the writer thread has committed since visible here. */
  refresh(): void {
    this.database.resetReadTxn();
  }

  /** Undefined in a store that is being created. */
  meta(): Meta | undefined {
    const record = this.database.getBinary(metaKey);
    return record === undefined ? undefined : decodeMeta(asBuffer(record));
  }

  /** The newest version of a key that the files show, tombstones included. */
  current(key: string): Version | undefined {
    return this.#version(currentKey(key));
  }

  /** The first so many keys from this one on, tombstones included. */
  keysFrom(from: string, count: number): readonly string[] {
    const keys: string[] = [];
    for (const recordKey of this.database.getKeys({
      start: currentKey(from),
      end: afterCurrent,
      limit: count,
    }))
      keys.push(userKeyOf(asBuffer(recordKey)));
    return keys;
  }

  /** Reads a range as it was at `revision`, or a part of it: see `stepsPerPart`. */
  readPart(range: KeyRange, limit: number, revision: Revision): PartRead {
    this.#refuseCompacted(revision);
    const entries: Entry[] = [];
    let steps = 0;
    for (const { key: recordKey, value } of this.database.getRange({
      start: currentKey(range.from),
      end: currentKey(range.to),
    })) {
      const key = userKeyOf(asBuffer(recordKey));
      if (steps >= stepsPerPart) return { entries, more: false, resumeFrom: key };
      const found = this.#versionAt(key, decodeVersion(asBuffer(value)), revision);
      steps += found.steps;
      const entry = liveEntry(key, found.version);
      if (entry === undefined) continue;
      if (entries.length === limit) return { entries, more: true, resumeFrom: undefined };
      entries.push(entry);
    }
    return { entries, more: false, resumeFrom: undefined };
  }

  /** Some of the transactions after `after` and not after `visible`, with the revision they reach up to. */
  changesAfter(after: Revision, visible: Revision): { sets: readonly ChangeSet[]; upTo: Revision } {
    this.#refuseCompacted(after);
    const sets: ChangeSet[] = [];
    let bytes = 0;
    for (const { key, value } of this.database.getRange({
      start: logKey(after + 0.5),
      end: logKey(visible + 0.5),
    })) {
      const last = sets.at(-1);
      if (last !== undefined && (sets.length === historySetsPerTurn || bytes >= historyBytesPerTurn)) {
        return { sets, upTo: last.revision };
      }
      const revision = revisionOfLogKey(asBuffer(key));
      sets.push({ revision, changes: decodeLog(asBuffer(value), revision).map(changeOf) });
      bytes += value.length;
    }
    return { sets, upTo: visible };
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /**
   * Asks the snapshot that the rest is read from: a compaction may be on disk before the main thread hears
   * of it.
   */
  #refuseCompacted(revision: Revision): void {
    const compacted = this.meta()?.compacted ?? 0;
    if (revision < compacted) throw expired(revision, compacted);
  }

  /** Walks back from a key's newest version to the one in force at `revision`. */
  #versionAt(
    key: string,
    newest: Version,
    revision: Revision,
  ): { version: Version | undefined; steps: number } {
    let version: Version | undefined = newest;
    let steps = 1;
    for (; version !== undefined && version.modRevision > revision; steps++) {
      const { modRevision, previous }: Version = version;
      if (previous === 0) return { version: undefined, steps };
      version = this.#logged(previous, key) ?? this.#version(baseKey(key));
      assert(
        version === undefined || version.modRevision < modRevision,
        'the versions of a key do not go back',
      );
    }
    return { version, steps };
  }

  #logged(revision: Revision, key: string): Version | undefined {
    // A record has all changes of its transaction, so only the one that is asked for is copied from lmdb's memory.
    const record = this.database.getBinaryFast(logKey(revision));
    const found = record === undefined ? undefined : findInLog(record, revision, key);
    return found === undefined ? undefined : { ...found, value: Buffer.from(found.value) };
  }

  #version(recordKey: Buffer): Version | undefined {
    const record = this.database.getBinary(recordKey);
    return record === undefined ? undefined : decodeVersion(asBuffer(record));
  }
}
