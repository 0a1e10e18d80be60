import { describe, expect, it } from 'vitest';
import type { BerthObject } from '../../model/object.js';
import type { ObjectChange } from '../../model/ports.js';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import { nodeOf, replicaOf, workloadOf } from './workload.fixture.js';
import { workloadKeysOf } from './workload-keys.js';

const objects = new FakeObjects();
objects.put(workloadOf());
objects.put(objectOf('Workload', 'u', 'logs', { spec: { type: 'Daemon' } }));
const keys = (type: ObjectChange['type'], object: BerthObject, before?: BerthObject): string[] => [
  ...workloadKeysOf(objects, { type, kind: object.kind, version: 1, object, before }),
];

describe('the workloads that a change concerns', () => {
  it('are the one that changed, or the one that a replica belongs to', () => {
    expect(keys('ADDED', workloadOf())).toEqual(['t/web']);
    expect(keys('MODIFIED', workloadOf({}, { generation: 2 }), workloadOf())).toEqual(['t/web']);
    expect(keys('MODIFIED', workloadOf({}, { finalizers: [] }), workloadOf())).toEqual(['t/web']);
    expect(keys('MODIFIED', workloadOf({}, { deletionTimestamp: 'x' }), workloadOf())).toEqual(['t/web']);
    expect(keys('DELETED', workloadOf(), workloadOf())).toEqual(['t/web']);
    expect(keys('ADDED', replicaOf(0, 'Queued'))).toEqual(['t/web']);
    expect(keys('ADDED', objectOf('Lease', undefined, 'x'))).toEqual([]);
  });

  it('are none when only a status was written', () => {
    expect(keys('MODIFIED', { ...workloadOf(), status: { replicas: 1 } }, workloadOf())).toEqual([]);
  });

  it('are all daemons when a node comes, goes or is labelled, and none when it only reports', () => {
    const node = nodeOf('n');
    expect(keys('ADDED', node)).toEqual(['u/logs']);
    expect(keys('DELETED', { ...node }, node)).toEqual(['u/logs']);
    expect(keys('MODIFIED', nodeOf('n', {}, { pool: 'x' }), node)).toEqual(['u/logs']);
    expect(keys('MODIFIED', nodeOf('n', { unschedulable: true }), node)).toEqual(['u/logs']);
    expect(keys('MODIFIED', { ...node, status: { reachability: 'Fresh' } }, node)).toEqual([]);
  });
});
