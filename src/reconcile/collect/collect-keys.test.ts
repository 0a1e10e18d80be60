import { describe, expect, it } from 'vitest';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { BerthObject } from '../../model/object.js';
import type { ObjectChange } from '../../model/ports.js';
import { replicaOf, workloadOf } from '../workload/workload.fixture.js';
import { orphanKeysOf } from './orphan-reconciler.js';
import { revisionKeysOf } from './revision-reconciler.js';

const objects = new FakeObjects();
objects.put(workloadOf());
const change = (type: ObjectChange['type'], object: BerthObject, before?: BerthObject): ObjectChange => ({
  ...{ type, kind: object.kind, object, before },
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
