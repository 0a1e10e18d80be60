import { describe, expect, it } from 'vitest';
import type { Replica } from '../../model/kinds/replica.js';
import type { Stage } from '../../model/stages.js';
import { type Progress, type ProgressOptions, ProgressTally } from './progress.js';
import { factsOf } from './replica-facts.js';
import { replicaOf, type ReplicaShape } from './workload.fixture.js';

const now = '2026-01-01T01:00:00Z';
interface ProgressInput extends ProgressOptions {
  readonly wanted: readonly Replica[];
  readonly missing: { readonly count: number; readonly reason: string };
  readonly previous: Progress | undefined;
  readonly now: string;
}
function progressOf(asked: ProgressInput): Progress {
  const tally = new ProgressTally(asked);
  for (const [at, replica] of asked.wanted.entries()) {
    const facts = factsOf(replica);
    tally.exist(facts.stage, 1);
    tally.areWanted(facts, 1, replica, at);
  }
  if (asked.missing.count > 0) tally.areMissing(asked.missing.reason, asked.missing.count);
  return tally.result(asked.previous, asked.now);
}
const input = (wanted: readonly Replica[], changed: Partial<ProgressInput> = {}): ProgressInput => ({
  ...{ wanted, missing: { count: 0, reason: 'NotIncarnated' }, isBatch: false },
  ...{ startDeadlineSeconds: 300, previous: undefined, now, ...changed },
});
const retrying = (reason: string, message = ''): ReplicaShape => ({
  conditions: [{ type: 'SchedulingRetrying', status: 'True', reason, message, lastTransitionTime: now }],
});
const binding = {
  ...{ node: 'n1', nodeEpoch: { cell: 1, number: 1 }, fence: '1' },
  receipt: { snapshotRevision: '1', policyRevision: 'p', operation: 'o' },
};

describe('what limits a workload', () => {
  it.each<[Stage, ReplicaShape, Progress['limitedBy'], string, string]>([
    ['Admitted', {}, 'Authority', 'Wanted', 'workload-controller'],
    ['Queued', {}, 'Scheduling', 'NotTriedYet', 'scheduler'],
    ['Queued', retrying('NodeFull'), 'Scheduling', 'NodeFull', 'scheduler'],
    ['Queued', retrying('QuotaExceeded'), 'Quota', 'QuotaExceeded', 'scheduler'],
    ['Queued', retrying('GrantExhausted'), 'Quota', 'GrantExhausted', 'scheduler'],
    ['Queued', retrying('AwaitingAuthority'), 'Authority', 'AwaitingAuthority', 'scheduler'],
    ['Scheduled', {}, 'Binding', 'Wanted', 'scheduler'],
    ['Bound', { binding }, 'NodeStart', 'Wanted', 'agent:n1'],
    ['Starting', { binding, step: 'PullingImage' }, 'NodeStart', 'PullingImage', 'agent:n1'],
    ['Starting', { binding, driverId: 'd', step: 'Probing' }, 'Readiness', 'Probing', 'agent:n1'],
    ['Ready', {}, 'Traffic', 'Wanted', 'endpoints-controller'],
    ['Failed', {}, 'Authority', 'AwaitsNextIncarnation', 'workload-controller'],
    ['Unknown', {}, undefined, 'Wanted', 'repair-controller'],
    ['Releasing', { binding }, undefined, 'Wanted', 'agent:n1'],
  ])(
    'with a replica that is %s %j is %s: %s, and %s is next',
    (stage, shape, limitedBy, reason, nextMove) => {
      const progress = progressOf(input([replicaOf(0, stage, shape)]));
      expect([progress.limitedBy, progress.reason, progress.nextMove]).toEqual([limitedBy, reason, nextMove]);
      expect(progress.stages).toEqual({ [stage]: 1 });
    },
  );

  it('is nothing when all serve, or when a batch runs', () => {
    expect(progressOf(input([replicaOf(0, 'Serving')]))).toEqual({ stages: { Serving: 1 } });
    const running = [replicaOf(0, 'Ready'), replicaOf(1, 'Succeeded')];
    expect(progressOf(input(running, { isBatch: true }))).toEqual({ stages: { Ready: 1, Succeeded: 1 } });
  });

  it('is the boundary that most wait at, with its most frequent reason and message; an earlier one of two', () => {
    const many = [
      replicaOf(0, 'Ready'),
      replicaOf(1, 'Queued', retrying('NodeFull', 'no node has 2 cores')),
      replicaOf(2, 'Queued', retrying('NodeFull', 'no node has 2 cores')),
      replicaOf(3, 'Queued', retrying('Tainted')),
      replicaOf(4, 'Queued', retrying('QuotaExceeded')),
    ];
    expect(progressOf(input(many))).toMatchObject({
      ...{ stages: { Ready: 1, Queued: 4 }, limitedBy: 'Scheduling', reason: 'NodeFull' },
      ...{ message: 'no node has 2 cores', operation: 'incarnate/uid-web/1/1' },
    });
    const even = [replicaOf(0, 'Ready'), replicaOf(1, 'Queued', retrying('QuotaExceeded'))];
    expect(progressOf(input(even)).limitedBy).toBe('Quota');
  });

  it('counts slots without a replica as waiting for their controller', () => {
    const missing = { count: 3, reason: 'NotIncarnated' };
    expect(progressOf(input([replicaOf(0, 'Queued')], { missing }))).toMatchObject({
      ...{ limitedBy: 'Authority', reason: 'NotIncarnated', nextMove: 'workload-controller' },
    });
  });

  it('has been so since the boundary was first met, however the reason changes', () => {
    const first = progressOf(input([replicaOf(0, 'Queued')]));
    expect(first.since).toBe(now);
    const later = '2026-01-01T02:00:00Z';
    const changed = { previous: first, now: later };
    expect(progressOf(input([replicaOf(0, 'Queued', retrying('NodeFull'))], changed)).since).toBe(now);
    expect(progressOf(input([replicaOf(0, 'Ready')], changed)).since).toBe(later);
  });

  it('tells until when those that start are waited for', () => {
    const transitions = [
      {
        ...{
          to: 'Bound' as const,
          actor: 'scheduler:s',
          reason: 'Bound',
          revision: '1',
          operation: 'bind/1',
        },
        at: '2026-01-01T00:30:00Z',
      },
    ];
    const starting = replicaOf(0, 'Starting', { binding, transitions });
    expect(progressOf(input([starting], { startDeadlineSeconds: 90 })).deadline).toBe('2026-01-01T00:31:30Z');
  });
});
