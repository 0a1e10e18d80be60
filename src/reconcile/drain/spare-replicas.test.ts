import { describe, expect, it } from 'vitest';
import type { Stage } from '../../model/stages.js';
import { inputOf, replicaOf, workloadOf } from '../workload/workload.fixture.js';
import { SpareReplicas } from './spare-replicas.js';

const spareOf = (spec: object, stages: readonly Stage[], leavers = new Set<string>()): SpareReplicas => {
  const workload = workloadOf({ replicas: 3, ...spec });
  const replicas = stages.map((stage, slot) => replicaOf(slot, stage));
  return new SpareReplicas({ workload, slots: inputOf(workload, replicas).slots, leavers });
};
const serving = replicaOf(0, 'Serving');

/** How many that serve may leave, one after the other. */
function countOf(spec: object, stages: readonly Stage[]): number {
  const leavers = new Set<string>();
  const spare = spareOf(spec, stages, leavers);
  while (leavers.size < 10 && spare.whyNot(serving) === undefined) leavers.add(`another ${leavers.size}`);
  return leavers.size;
}

describe('who may be spared', () => {
  const two = { disruption: { maxUnavailable: 2 } };
  const cases: readonly (readonly [string, object, readonly Stage[], number])[] = [
    ['all serve: as many as the limit allows', {}, ['Serving', 'Serving', 'Serving'], 1],
    ['one is lost', {}, ['Serving', 'Unknown', 'Serving'], 0],
    ['one of two that may be away crashes', two, ['Serving', 'Failed', 'Serving'], 1],
    ['one is ready, and nobody is sent to it yet', {}, ['Serving', 'Ready', 'Serving'], 0],
    ['one was asked to leave before', two, ['Releasing', 'Serving', 'Serving'], 1],
    ['one has not been made yet', {}, ['Serving', 'Serving'], 0],
    ['more are away than may be', {}, ['Serving', 'Queued', 'Queued'], 0],
    ['one too many serves', {}, ['Serving', 'Serving', 'Serving', 'Serving'], 1],
    ['nobody may be away', { disruption: { maxUnavailable: 0 } }, ['Serving', 'Serving', 'Serving'], 0],
  ];
  it.each(cases)('%s', (_, spec, stages, count) => {
    expect(countOf(spec, stages)).toBe(count);
  });

  it('says how many serve; one that does not may leave; a batch and a daemon have no such limit', () => {
    const spare = spareOf({}, ['Serving', 'Unknown', 'Serving']);
    expect(spare.whyNot(serving)).toBe('2 of 3 replicas of web serve; at most 1 may be away at once');
    expect(spare.whyNot(replicaOf(1, 'Ready'))).toBeUndefined();
    expect(spareOf({ type: 'Batch' }, ['Serving']).whyNot(serving)).toBeUndefined();
    expect(spareOf({ type: 'Daemon' }, ['Serving']).whyNot(serving)).toBeUndefined();
    const asked = new Set([serving.metadata.uid]);
    expect(spareOf({}, ['Serving', 'Serving', 'Serving'], asked).whyNot(serving), 'again').toBeUndefined();
  });
});
