import { BerthError } from '../model/errors.js';
import { expired } from './check-read.js';
import type { ChangeSet, Entry, KeyRange, ReadResult, Revision } from './contract.js';
import { asBuffer } from './lmdb-batch.js';
import { type LmdbHandle, type LmdbSync, openLmdb } from './lmdb-environment.js';
import {
  baseKey,
  changeOf,
  currentKey,
  decodeLog,
  decodeMeta,
  decodeVersion,
  formatVersion,
  liveEntry,
  logKey,
  type Meta,
  metaKey,
  revisionOfLogKey,
  userKeyOf,
  type Version,
} from './lmdb-layout.js';

// How many transactions of history a watcher that catches up gets per turn.
const historySetsPerTurn = 1_000;

/** Reads of the lmdb store, on the main thread: the files are mapped into memory, so a read is a look-up. */
export class LmdbReader {
  private constructor(private readonly database: LmdbHandle) {}

  static open(dir: string, sync: LmdbSync): LmdbReader {
    const reader = new LmdbReader(openLmdb(dir, sync));
    const version = reader.meta()?.version ?? formatVersion;
    if (version !== formatVersion) {
      void reader.close();
      throw new BerthError(
        'StoreFormat',
        `the store in ${dir} has format ${version}; this version of berth reads format ${formatVersion}`,
      );
    }
    return reader;
  }

  /** Makes what the writer thread has committed since visible here. */
  refresh(): void {
    this.database.resetReadTxn();
  }

  meta(): Meta | undefined {
    const record = this.database.getBinary(metaKey);
    return record === undefined ? undefined : decodeMeta(asBuffer(record));
  }

  /** The newest version of a key that the files show, tombstones included. */
  current(key: string): Version | undefined {
    return this.#version(currentKey(key));
  }

  read(range: KeyRange, limit: number, revision: Revision): ReadResult {
    // Read from the same snapshot as the rest: a compaction may be on disk before the main thread hears of it.
    const compacted = this.meta()?.compacted ?? 0;
    if (revision < compacted) throw expired(revision);
    const entries: Entry[] = [];
    for (const { key: recordKey, value } of this.database.getRange({
      start: currentKey(range.from),
      end: currentKey(range.to),
    })) {
      const key = userKeyOf(asBuffer(recordKey));
      const entry = liveEntry(key, this.#versionAt(key, decodeVersion(asBuffer(value)), revision));
      if (entry === undefined) continue;
      if (entries.length === limit) return { entries, revision, more: true };
      entries.push(entry);
    }
    return { entries, revision, more: false };
  }

  /** Some of the transactions after `after` and not after `visible`, with the revision they reach up to. */
  changesAfter(after: Revision, visible: Revision): { sets: readonly ChangeSet[]; upTo: Revision } {
    const sets: ChangeSet[] = [];
    for (const { key, value } of this.database.getRange({
      start: logKey(after + 0.5),
      end: logKey(visible + 0.5),
      limit: historySetsPerTurn,
    })) {
      const revision = revisionOfLogKey(asBuffer(key));
      sets.push({ revision, changes: decodeLog(asBuffer(value), revision).map(changeOf) });
    }
    const last = sets.at(-1);
    return { sets, upTo: last === undefined || sets.length < historySetsPerTurn ? visible : last.revision };
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** Walks back from a key's newest version to the one in force at `revision`. */
  #versionAt(key: string, newest: Version, revision: Revision): Version | undefined {
    let version: Version | undefined = newest;
    while (version !== undefined && version.modRevision > revision) {
      const { previous }: Version = version;
      if (previous === 0) return undefined;
      version = this.#logged(previous, key) ?? this.#version(baseKey(key));
    }
    return version;
  }

  #logged(revision: Revision, key: string): Version | undefined {
    const record = this.database.getBinary(logKey(revision));
    if (record === undefined) return undefined;
    return decodeLog(asBuffer(record), revision).find((change) => change.key === key)?.version;
  }

  #version(recordKey: Buffer): Version | undefined {
    const record = this.database.getBinary(recordKey);
    return record === undefined ? undefined : decodeVersion(asBuffer(record));
  }
}
