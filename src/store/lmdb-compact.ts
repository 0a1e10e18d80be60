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

// How much one slice forgets: a few milliseconds of work, so that writers hardly notice.
const transactionsPerSlice = 500;
const changesPerSlice = 4_000;
/** A slice removes or replaces at most this many records. */
export const recordsPerSliceMax = transactionsPerSlice + 2 * (changesPerSlice + 128);

/**
 * Forgets the oldest part of history, up to `upTo` at most, and returns the revision it reached. Runs inside
 * a write transaction. Each slice is a complete compaction, so a crash between two leaves a valid store.
 *
 * Invariant it keeps: for every key, the version in force at the compacted revision is in `current` if it is
 * still the newest, and otherwise in `base`.
 */
export function compactSlice(database: LmdbHandle, upTo: number): Revision {
  const metaRecord = database.getBinary(metaKey);
  const meta = metaRecord === undefined ? undefined : decodeMeta(asBuffer(metaRecord));
  if (meta === undefined) throw new Error('the store has no meta record');
  // Never back: what lies before is gone.
  if (upTo <= meta.compacted) return meta.compacted;

  const newest = new Map<string, Version>();
  const forgotten: Buffer[] = [];
  let changes = 0;
  let isAll = true;
  for (const { key, value } of database.getRange({ start: logKey(0), end: logKey(upTo + 0.5) })) {
    if (forgotten.length === transactionsPerSlice || changes >= changesPerSlice) {
      isAll = false;
      break;
    }
    const logged = decodeLog(asBuffer(value), revisionOfLogKey(asBuffer(key)));
    changes += logged.length;
    for (const change of logged) newest.set(change.key, change);
    forgotten.push(asBuffer(key));
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
  const reached = isAll || last === undefined ? asRevision(upTo) : revisionOfLogKey(last);
  void database.put(metaKey, encodeMeta(meta.revision, reached));
  return reached;
}
