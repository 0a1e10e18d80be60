import { describe, expect, it } from 'vitest';
import type { Stage } from '../../model/stages.js';
import { replicaOf, workloadOf } from '../workload/workload.fixture.js';
import { judgeOrphan } from './judge-orphan.js';

describe('a replica', () => {
  it('that has its workload is left alone', () => {
    expect(judgeOrphan(replicaOf(0, 'Ready'), workloadOf())).toBeUndefined();
    expect(judgeOrphan(replicaOf(0, 'Failed'), workloadOf())).toBeUndefined();
  });

  it.each<[Stage, object | undefined]>([
    ['Queued', { kind: 'Release', reason: 'WorkloadGone' }],
    ['Bound', { kind: 'Evict', reason: 'WorkloadGone' }],
    ['Serving', { kind: 'Evict', reason: 'WorkloadGone' }],
    ['Unknown', { kind: 'Evict', reason: 'WorkloadGone' }],
    ['Releasing', undefined],
    ['Released', { kind: 'Forget', dropSlot: true }],
    ['Succeeded', { kind: 'Forget', dropSlot: true }],
  ])('whose workload is gone and that is %s: %j', (stage, expected) => {
    const replica = replicaOf(0, stage);
    for (const workload of [undefined, workloadOf({}, { uid: 'another' })]) {
      const step = judgeOrphan(replica, workload);
      if (expected === undefined) expect(step).toBeUndefined();
      else expect(step).toMatchObject(expected);
    }
  });
});
