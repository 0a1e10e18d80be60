import { expect, it } from 'vitest';
import { asRevision, type Write } from './contract.js';
import { forEachRecord, LmdbBatch, sizeOf } from './lmdb-batch.js';
import {
  currentKey,
  decodeLog,
  decodeMeta,
  decodeVersion,
  logKey,
  metaKey,
  type Version,
} from './lmdb-layout.js';
import { LmdbNewest } from './lmdb-newest.js';

const put = (key: string, text: string): Write => ({ kind: 'put', key, value: Buffer.from(text) });

function filled() {
  const old: Version = {
    isDeleted: false,
    modRevision: asRevision(3),
    createRevision: asRevision(2),
    previous: asRevision(0),
    value: Buffer.from('old'),
  };
  const onDisk = (key: string): Version | undefined => (key === '/old' ? old : undefined);
  const newest = new LmdbNewest({ current: onDisk, keysFrom: () => ['/old'] });
  const batch = new LmdbBatch();
  const add = (revision: number, ...writes: readonly Write[]): boolean => {
    newest.begin();
    return batch.add(writes, asRevision(revision), asRevision(3), newest, onDisk);
  };
  return { batch, add };
}

it('a log record is made of the current records of its transaction, and of no others', () => {
  const { batch, add } = filled();
  expect(add(5, put('/a', 'one'), { kind: 'delete', key: '/none' }, put('/b', ''))).toBe(true);
  expect(add(6, { kind: 'delete', key: '/none' })).toBe(false);
  // Its old version goes to base, between the two, and is not logged.
  expect(add(6, put('/a', 'two'), put('/old', 'new'), { kind: 'delete', key: '/b' })).toBe(true);
  const bytesBefore = batch.bytes;
  const encoded = Buffer.from(batch.encode(asRevision(6), asRevision(3)));

  const { records, logBytes } = sizeOf(encoded);
  const found = new Map<string, Buffer>();
  forEachRecord(encoded, Buffer.alloc(logBytes), (key, value) => found.set(key.toString('latin1'), value));
  const record = (key: Buffer): Buffer => found.get(key.toString('latin1')) ?? Buffer.alloc(0);

  expect(decodeLog(record(logKey(5)), asRevision(5))).toEqual([
    {
      key: '/a',
      isDeleted: false,
      modRevision: 5,
      createRevision: 5,
      previous: 0,
      value: Buffer.from('one'),
    },
    { key: '/b', isDeleted: false, modRevision: 5, createRevision: 5, previous: 0, value: Buffer.from('') },
  ]);
  expect(decodeLog(record(logKey(6)), asRevision(6))).toEqual([
    {
      key: '/a',
      isDeleted: false,
      modRevision: 6,
      createRevision: 5,
      previous: 5,
      value: Buffer.from('two'),
    },
    {
      key: '/old',
      isDeleted: false,
      modRevision: 6,
      createRevision: 2,
      previous: 3,
      value: Buffer.from('new'),
    },
    { key: '/b', isDeleted: true, modRevision: 6, createRevision: 5, previous: 5, value: Buffer.from('') },
  ]);
  expect(decodeVersion(record(currentKey('/a'))).value.toString()).toBe('two');
  expect(decodeMeta(record(metaKey))).toEqual({ revision: 6, compacted: 3 });
  // Five current ones, one base, two logs, one meta.
  expect(records).toBe(9);
  // Who closes a batch because of its size counts what the writer thread adds.
  expect(bytesBefore).toBeGreaterThanOrEqual(logBytes + record(logKey(5)).length + record(logKey(6)).length);
});
