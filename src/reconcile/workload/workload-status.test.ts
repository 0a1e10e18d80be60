import { describe, expect, it } from 'vitest';
import type { Replica } from '../../model/kinds/replica.js';
import { kindNamed } from '../../model/kinds.js';
import { workload as workloadKind } from '../../model/kinds/workload.js';
import type { Workload } from '../../model/kinds/workload.js';
import { Validator } from '../../model/validate.js';
import { revisionOf } from './revision-of.js';
import type { Stage } from '../../model/stages.js';
import { boundTo, inputOf, nodeOf, replicaOf, workloadOf } from './workload.fixture.js';
import { workloadStatus } from './workload-status.js';

const now = '2026-01-01T01:00:00Z';
const later = '2026-01-01T02:00:00Z';
function inOneGo<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
const statusOf = (workload: Workload, replicas: readonly Replica[], at = now) =>
  inOneGo(workloadStatus(inputOf(workload, replicas), at));
const conditionsOf = (status: ReturnType<typeof statusOf>): Record<string, string> =>
  Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]),
  );
const batch = workloadOf({ type: 'Batch', replicas: 2, batch: { completions: 2, backoffLimit: 0 } });

describe('the status of a workload', () => {
  it('counts what is there and what should be', () => {
    const old = replicaOf(2, 'Serving', { revision: 'web-old' });
    const replicas = [replicaOf(0, 'Ready'), replicaOf(1, 'Unknown'), old, replicaOf(3, 'Failed')];
    expect(statusOf(workloadOf({ replicas: 5 }), replicas)).toMatchObject({
      ...{ desired: 5, replicas: 3, readyReplicas: 2, servingReplicas: 1, unknownReplicas: 1 },
      ...{ updatedReplicas: 2, observedGeneration: 1, selector: 'berth.dev/workload=web' },
      updateRevision: revisionOf(workloadOf()).name,
    });
  });

  it('[L6] tells which lost copy the next replica waits for, why, and what a person can do', () => {
    const once = { template: { run: {}, execution: 'AtMostOne' }, onNodeLost: { action: 'Fence' } };
    const ended = replicaOf(0, 'Released', { incarnation: 2 });
    const progress = (lost: Stage, spec: object = once) =>
      statusOf(workloadOf(spec), [replicaOf(0, lost, boundTo('n1')), ended]).progress;
    expect(progress('Unknown')).toMatchObject({
      ...{ limitedBy: 'Authority', reason: 'AwaitsLostCopy', nextMove: 'repair-controller' },
      message:
        'Lost copy web-0-1 may still run on n1, and AtMostOne allows no second copy. The next replica starts when web-0-1 has stopped: ' +
        'n1 comes back and stops it, or an operator confirms that everything on n1 has stopped (berth attest n1 --stopped)',
    });
    expect(progress('Releasing')).toMatchObject({ nextMove: 'agent:n1' });
    expect(progress('Releasing')?.message).toContain('Lost copy web-0-1 is stopping on n1, and AtMostOne');
    expect(progress('Unknown', { onNodeLost: { action: 'Wait' } })?.message).toContain(
      'onNodeLost: Wait allows',
    );
    expect(progress('Unknown', {})).toMatchObject({ reason: 'AwaitsNextIncarnation' });
    expect(progress('Released')).toMatchObject({ reason: 'AwaitsNextIncarnation' });
    const ofBatch = { ...once, type: 'Batch', batch: { completions: 1, backoffLimit: 6 } };
    expect(progress('Unknown', ofBatch)).toMatchObject({ reason: 'AwaitsLostCopy' });
  });

  it('tells what is not complete yet, what has failed beyond repair, and what is not known apart', () => {
    expect(conditionsOf(statusOf(workloadOf(), []))).toEqual({
      ...{ Progressing: 'True NotIncarnated', Available: 'False NotAllServing' },
      ...{ Failed: 'False NotFailed', Unknown: 'False AllKnown' },
    });
    expect(conditionsOf(statusOf(workloadOf(), [replicaOf(0, 'Serving')]))).toMatchObject({
      ...{ Progressing: 'False Complete', Available: 'True AllServing' },
    });
    expect(conditionsOf(statusOf(workloadOf(), [replicaOf(0, 'Unknown')]))).toMatchObject({
      ...{ Progressing: 'True Wanted', Failed: 'False NotFailed', Unknown: 'True ReplicasUnknown' },
    });
    expect(conditionsOf(statusOf(batch, [replicaOf(0, 'Failed')]))).toMatchObject({
      ...{
        Progressing: 'False Failed',
        Failed: 'True BackoffLimitExceeded',
        Complete: 'False NotAllSucceeded',
      },
    });
    const succeeded = [replicaOf(0, 'Succeeded'), replicaOf(1, 'Succeeded')];
    expect(conditionsOf(statusOf(batch, succeeded))).toMatchObject({
      ...{ Progressing: 'False Complete', Complete: 'True AllSucceeded', Failed: 'False NotFailed' },
    });
  });

  it.each([
    ['its probe fails', 'Service', { readiness: { isPassing: false, message: 'refused' } }, 'ReadinessLost'],
    ['nobody sends it any', 'Service', {}, 'Wanted'],
    ['nobody sends it any', 'Daemon', {}, 'Wanted'],
  ])(
    '[L6] is not available while no replica takes traffic, ready as it is: %s (%s)',
    (_, type, shape, why) => {
      const nodes = [nodeOf('0')];
      const input = inputOf(workloadOf({ type }), [replicaOf(0, 'Ready', shape)], { nodes });
      expect(conditionsOf(inOneGo(workloadStatus(input, now)))).toMatchObject({
        ...{ Progressing: `True ${why}`, Available: 'False NotAllServing' },
      });
    },
  );

  it('is the very same while nothing changes, however much later', () => {
    const workload = workloadOf({ replicas: 2 });
    const replicas = [replicaOf(0, 'Ready'), replicaOf(1, 'Queued')];
    const first = statusOf(workload, replicas);
    const again = statusOf({ ...workload, status: { ...first } }, replicas, later);
    expect(again).toEqual(first);
    const changed = statusOf({ ...workload, status: { ...first } }, [replicaOf(0, 'Ready')], later);
    expect(changed).not.toEqual(first);
    const available = changed.conditions?.find(({ type }) => type === 'Available');
    expect(available?.lastTransitionTime, 'it was not available before either').toBe(now);
  });

  it('returns the object that is there when it is equal, so that nothing is written', () => {
    const workload = workloadOf();
    const withStatus = { ...workload, status: { ...statusOf(workload, []) } };
    expect(statusOf(withStatus, [], later)).toBe(withStatus.status);
  });

  it('leaves alone what others keep in it', () => {
    const paused = {
      type: 'Paused',
      status: 'True',
      reason: 'R',
      message: '',
      lastTransitionTime: now,
    } as const;
    const workload = { ...workloadOf(), status: { conditions: [paused] } };
    expect(statusOf(workload, []).conditions).toContainEqual(paused);
  });

  it('calls a revision current when every replica is of it', () => {
    const workload = { ...workloadOf({ replicas: 2 }), status: { currentRevision: 'web-old' } };
    const current = revisionOf(workload).name;
    const mixed = [replicaOf(0, 'Ready'), replicaOf(1, 'Ready', { revision: 'web-old' })];
    expect(statusOf(workload, mixed)).toMatchObject({ currentRevision: 'web-old', updateRevision: current });
    const rolled = [replicaOf(0, 'Ready'), replicaOf(1, 'Ready')];
    expect(statusOf(workload, rolled).currentRevision).toBe(current);
  });

  it('follows a batch from its start to its end', () => {
    expect(statusOf(batch, []).batch).toEqual({ succeeded: 0, failed: 0 });
    const started = statusOf(batch, [replicaOf(0, 'Queued')]);
    expect(started.batch).toEqual({ succeeded: 0, failed: 0, startedAt: now });
    const over = [replicaOf(0, 'Succeeded'), replicaOf(1, 'Succeeded', { failures: 2, incarnation: 3 })];
    expect(statusOf({ ...batch, status: { ...started } }, over, later).batch).toEqual({
      ...{ succeeded: 2, failed: 2, startedAt: now, finishedAt: later },
    });
  });

  it('counts the nodes that a daemon wants', () => {
    const daemon = workloadOf({ type: 'Daemon', placement: { zones: ['a'] } });
    const nodes = [
      nodeOf('x'),
      nodeOf('y'),
      nodeOf('z', { zone: 'b' }),
      nodeOf('u', { unschedulable: true }),
    ];
    const status = inOneGo(workloadStatus(inputOf(daemon, [replicaOf('u', 'Ready')], { nodes }), now));
    expect(status).toMatchObject({ desired: 3, readyReplicas: 1 });
  });

  it('wants nothing while it is deleted', () => {
    const deleted = workloadOf({ replicas: 3 }, { deletionTimestamp: now });
    expect(statusOf(deleted, [replicaOf(0, 'Releasing')])).toMatchObject({ desired: 0, replicas: 1 });
  });

  it('is valid by the schema of its kind', () => {
    expect(kindNamed('Workload')).toBe(workloadKind);
    const workload = workloadOf({ replicas: 3 });
    const object = { ...workload, status: statusOf(workload, [replicaOf(0, 'Ready')]) };
    expect(new Validator().validate(workloadKind, object as never)).toEqual([]);
  });
});
