import { asRevision, type Change, type Entry, type Revision } from './contract.js';

/**
 * How the lmdb store lays its records out. One database, four kinds of record, told apart by the first byte:
 *
 * - meta: format version, newest revision, compacted revision;
 * - current: a key's newest version. A deleted key stays as a tombstone until its deletion is compacted;
 * - log, by revision: every change of that transaction, with the new value and the revision of the version
 *   it replaced. Watches resume from it, and reads at a past revision walk back through it;
 * - base: the version of a key that was in force at the compacted revision, if it has been replaced since.
 *
 * So a write costs one record per key and one per transaction, and history needs no index: the version of a
 * key at revision R is found from its current record by following `previous` until it is R or older; it then
 * stands in the log, or, where the log no longer reaches, in base.
 */
export const formatVersion = 1;

export const metaKey = Buffer.from([0]);
export const currentTag = 1;
export const currentKey = (key: string): Buffer => Buffer.from(`\u0001${key}`, 'latin1');
export const baseKey = (key: string): Buffer => Buffer.from(`\u0002${key}`, 'latin1');
export const logTag = 3;
export function logKey(revision: number): Buffer {
  const key = Buffer.allocUnsafe(9);
  key[0] = logTag;
  // The bytes of positive doubles, written big end first, sort as the numbers do.
  key.writeDoubleBE(revision, 1);
  return key;
}
export const userKeyOf = (recordKey: Buffer): string => recordKey.toString('latin1', 1);

export interface Meta {
  readonly revision: Revision;
  readonly compacted: Revision;
}

const metaBytes = 17;

export function encodeMeta(revision: number, compacted: number): Buffer {
  const record = Buffer.allocUnsafe(metaBytes);
  record[0] = formatVersion;
  record.writeDoubleLE(revision, 1);
  record.writeDoubleLE(compacted, 9);
  return record;
}

/** Undefined if the record is not one that this version writes. */
export function decodeMeta(record: Buffer): Meta | undefined {
  if (record.length !== metaBytes || record[0] !== formatVersion) return undefined;
  return { revision: asRevision(record.readDoubleLE(1)), compacted: asRevision(record.readDoubleLE(9)) };
}

/** One version of a key as a current or base record holds it: a header, then the value. */
export interface Version {
  readonly isDeleted: boolean;
  readonly modRevision: Revision;
  readonly createRevision: Revision;
  /** The revision of the version this one replaced; 0 when there was none, or none that history still holds. */
  readonly previous: Revision;
  readonly value: Buffer;
}

export const versionHeaderBytes = 25;

export function writeVersionHeader(
  target: Buffer,
  at: number,
  isDeleted: boolean,
  modRevision: Revision,
  createRevision: Revision,
  previous: Revision,
): void {
  target[at] = isDeleted ? 1 : 0;
  target.writeDoubleLE(modRevision, at + 1);
  target.writeDoubleLE(createRevision, at + 9);
  target.writeDoubleLE(previous, at + 17);
}

/** The value is a view of `record`, which must be memory of its own: lmdb's `getBinary` and ranges copy. */
export function decodeVersion(record: Buffer): Version {
  return {
    isDeleted: record[0] === 1,
    modRevision: asRevision(record.readDoubleLE(1)),
    createRevision: asRevision(record.readDoubleLE(9)),
    previous: asRevision(record.readDoubleLE(17)),
    value: record.subarray(versionHeaderBytes),
  };
}

export const encodeVersion = (version: Version): Buffer => {
  const record = Buffer.allocUnsafe(versionHeaderBytes + version.value.length);
  const { isDeleted, modRevision, createRevision, previous } = version;
  writeVersionHeader(record, 0, isDeleted, modRevision, createRevision, previous);
  version.value.copy(record, versionHeaderBytes);
  return record;
};

/** One change as the log holds it: a version and the key it belongs to. */
export interface LoggedChange extends Version {
  readonly key: string;
}

const loggedHeaderBytes = 23;

/** What the log takes for a change with a current record of this size. */
export const loggedChangeBytes = (recordKeyBytes: number, recordBytes: number): number =>
  loggedHeaderBytes + (recordKeyBytes - 1) + (recordBytes - versionHeaderBytes);

/** Writes to the log what a current record holds, and returns where it ends. The revision is that of the log's own key. */
export function writeLoggedChange(target: Buffer, at: number, recordKey: Buffer, record: Buffer): number {
  const keyAt = at + loggedHeaderBytes;
  const valueAt = keyAt + recordKey.length - 1;
  target[at] = record[0] as number;
  target.writeUInt16LE(recordKey.length - 1, at + 1);
  target.writeUInt32LE(record.length - versionHeaderBytes, at + 3);
  // The revisions at which the key came into being and of what was replaced: side by side in both.
  record.copy(target, at + 7, 9, versionHeaderBytes);
  recordKey.copy(target, keyAt, 1);
  return valueAt + record.copy(target, valueAt, versionHeaderBytes);
}

export function decodeLog(record: Buffer, revision: Revision): LoggedChange[] {
  const changes: LoggedChange[] = [];
  for (let at = 0; at < record.length;) {
    const keyEnd = at + 23 + record.readUInt16LE(at + 1);
    const valueEnd = keyEnd + record.readUInt32LE(at + 3);
    changes.push({
      key: record.toString('latin1', at + 23, keyEnd),
      isDeleted: record[at] === 1,
      modRevision: revision,
      createRevision: asRevision(record.readDoubleLE(at + 7)),
      previous: asRevision(record.readDoubleLE(at + 15)),
      value: record.subarray(keyEnd, valueEnd),
    });
    at = valueEnd;
  }
  return changes;
}

/** One key's change in a log record, found without making objects of the others. */
export function findInLog(record: Buffer, revision: Revision, key: string): LoggedChange | undefined {
  for (let at = 0; at < record.length;) {
    const keyBytes = record.readUInt16LE(at + 1);
    const end = at + 23 + keyBytes + record.readUInt32LE(at + 3);
    if (keyBytes === key.length && record.toString('latin1', at + 23, at + 23 + keyBytes) === key) {
      return decodeLog(record.subarray(at, end), revision)[0];
    }
    at = end;
  }
  return undefined;
}

export const revisionOfLogKey = (key: Buffer): Revision => asRevision(key.readDoubleBE(1));

function entryOf(key: string, version: Version): Entry {
  const { value, createRevision, modRevision } = version;
  return { key, value, createRevision, modRevision };
}

/** What a reader sees of a key's version: nothing if it was deleted. */
export const liveEntry = (key: string, version: Version | undefined): Entry | undefined =>
  version === undefined || version.isDeleted ? undefined : entryOf(key, version);

export const changeOf = (change: LoggedChange): Change =>
  change.isDeleted
    ? { kind: 'delete', key: change.key }
    : { kind: 'put', entry: entryOf(change.key, change) };
