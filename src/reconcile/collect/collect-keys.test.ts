import { describe, expect, it } from 'vitest';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import type { BerthObject } from '../../model/object.js';
import type { ObjectChange } from '../../model/ports.js';
import { replicaOf, workloadOf } from '../workload/workload.fixture.js';
import { holdKeysOf } from './hold-reconciler.js';
import { orphanKeysOf } from './orphan-reconciler.js';
import { revisionKeysOf } from './revision-reconciler.js';

const objects = new FakeObjects();
objects.put(workloadOf());
const change = (type: ObjectChange['type'], object: BerthObject, before?: BerthObject): ObjectChange => ({
  ...{ type, kind: object.kind, version: 1, object, before },
});
const bound = replicaOf(0, 'Bound');
const { ownerReferences: _, ...ownerless } = bound.metadata;

describe('[L7] what wakes those that collect', () => {
  it('for orphans: a replica without its workload, and the workload itself, but no replica that has it', () => {
    const keys = (...of: Parameters<typeof change>): string[] => [...orphanKeysOf(objects, change(...of))];
    expect(keys('MODIFIED', bound, replicaOf(0, 'Queued'))).toEqual([]);
    expect(keys('MODIFIED', { ...bound, metadata: ownerless }, bound)).toEqual(['t/web']);
    expect(keys('DELETED', workloadOf(), workloadOf())).toEqual(['t/web']);
    const elsewhere = { ...bound, metadata: { ...bound.metadata, namespace: 'gone' } };
    expect(keys('MODIFIED', elsewhere, elsewhere)).toEqual(['gone/web']);
  });

  it('for holds: their own changes, their owner, what they wait for, and a node that takes nothing any more or offers other things', () => {
    const held = objectOf('Reservation', 't', 'hold-1', { spec: { node: 'n' } });
    const holds = new FakeObjects();
    holds.put(held);
    const keys = (...of: Parameters<typeof change>): string[] => [...holdKeysOf(holds, change(...of))];
    const node = (spec: object, status: object = {}): BerthObject =>
      objectOf('Node', undefined, 'n', { spec, status });
    expect(keys('MODIFIED', held, held)).toEqual(['t/hold-1']);
    expect(keys('MODIFIED', replicaOf(0, 'Queued'), replicaOf(0, 'Scheduled', { hold: 'hold-1' }))).toEqual([
      't/hold-1',
    ]);
    const victim = (stage: 'Releasing' | 'Unknown') => replicaOf(1, stage, { awaitedBy: 't/hold-1' });
    expect(keys('MODIFIED', victim('Unknown'), victim('Releasing'))).toEqual(['t/hold-1']);
    expect(keys('MODIFIED', victim('Releasing'), victim('Releasing'))).toEqual([]);
    for (const closed of [
      node({ drain: {} }),
      node({ unschedulable: true }),
      node({}, { reachability: 'Lost' }),
      node({}, { devices: { gpu: [] } }),
      { ...node({}), metadata: { ...node({}).metadata, deletionTimestamp: 'now' } },
    ])
      expect([keys('MODIFIED', closed, node({})), keys('MODIFIED', closed, closed)]).toEqual([
        ['t/hold-1'],
        [],
      ]);
    expect(keys('DELETED', node({}), node({}))).toEqual(['t/hold-1']);
    expect(keys('MODIFIED', node({}, { reachability: 'Suspect' }), node({}))).toEqual([]);
  });

  it('for revisions: a replica that comes or goes, and a workload that has come to another revision', () => {
    const keys = (...of: Parameters<typeof change>): string[] => [...revisionKeysOf(objects, change(...of))];
    const at = (currentRevision: string): BerthObject => ({ ...workloadOf(), status: { currentRevision } });
    expect(keys('MODIFIED', bound, replicaOf(0, 'Queued'))).toEqual([]);
    expect([...keys('ADDED', bound), ...keys('DELETED', bound, bound)]).toEqual(['t/web', 't/web']);
    expect([keys('MODIFIED', at('web-b'), at('web-a')), keys('MODIFIED', at('web-b'), at('web-b'))]).toEqual([
      ['t/web'],
      [],
    ]);
  });
});
