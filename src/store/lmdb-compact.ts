import { asRevision, type Revision } from './contract.js';
import { asBuffer } from './lmdb-batch.js';
import type { LmdbHandle } from './lmdb-environment.js';
import {
  baseKey,
  currentKey,
  decodeLog,
  decodeMeta,
  decodeVersion,
  encodeMeta,
  encodeVersion,
  logKey,
  metaKey,
  revisionOfLogKey,
  type Version,
} from './lmdb-layout.js';

// How many transactions one slice forgets: a few milliseconds, so that writers hardly notice.
const transactionsPerSlice = 1_000;

/**
 * Forgets the oldest part of history, up to `upTo` at most, and returns the revision it reached. Runs inside
 * a write transaction. Each slice is a complete compaction, so a crash between two leaves a valid store.
 *
 * Invariant it keeps: for every key, the version in force at the compacted revision is in `current` if it is
 * still the newest, and otherwise in `base`.
 */
export function compactSlice(database: LmdbHandle, upTo: number): Revision {
  const newest = new Map<string, Version>();
  const forgotten: Buffer[] = [];
  for (const key of database.getKeys({
    start: logKey(0),
    end: logKey(upTo + 0.5),
    limit: transactionsPerSlice,
  })) {
    forgotten.push(asBuffer(key));
  }
  for (const key of forgotten) {
    const record = database.getBinary(key);
    if (record === undefined) continue;
    for (const change of decodeLog(asBuffer(record), revisionOfLogKey(key)))
      newest.set(change.key, change.version);
  }
  for (const [key, version] of newest) {
    const record = database.getBinary(currentKey(key));
    const current = record === undefined ? undefined : decodeVersion(asBuffer(record));
    if (current?.modRevision === version.modRevision) {
      void database.remove(baseKey(key));
      if (current.isDeleted) void database.remove(currentKey(key));
    } else if (version.isDeleted) {
      void database.remove(baseKey(key));
    } else {
      void database.put(baseKey(key), encodeVersion(version));
    }
  }
  for (const key of forgotten) void database.remove(key);
  const last = forgotten.at(-1);
  const reached =
    last === undefined || forgotten.length < transactionsPerSlice ? asRevision(upTo) : revisionOfLogKey(last);
  const meta = database.getBinary(metaKey);
  const revision = meta === undefined ? reached : decodeMeta(asBuffer(meta)).revision;
  void database.put(metaKey, encodeMeta(revision, reached));
  return reached;
}
