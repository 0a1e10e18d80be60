import { describe, expect, it } from 'vitest';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Replica } from '../../model/kinds/replica.js';
import { ObjectIndex } from '../../model/object-index.js';
import { boundTo, replicaOf } from '../workload/workload.fixture.js';
import { allRepairKeys, nodeItMayRunOn } from './repair-keys.js';

describe('[L5] what repair looks at from time to time', () => {
  it('is all on nodes that are silent, and on others what has a deadline: what runs there keeps nobody waiting', () => {
    const objects = new FakeObjects();
    const stages = ['Bound', 'Starting', 'Ready', 'Serving', 'Releasing', 'Unknown', 'Released'] as const;
    for (const [slot, stage] of stages.entries()) {
      objects.put(replicaOf(slot, stage, boundTo('well')));
      objects.put(replicaOf(slot + 10, stage, boundTo('silent')));
    }
    const index = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
    index.fill();
    const keys = [...allRepairKeys(index, (node) => node === 'well')];
    const slots = keys.map((key) => Number(key.split('-')[1])).toSorted((a, b) => a - b);
    expect(slots).toEqual([...[0, 1, 4, 5], ...[10, 11, 12, 13, 14, 15]]);
  });
});
