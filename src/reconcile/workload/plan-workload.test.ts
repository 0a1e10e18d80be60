import { describe, expect, it } from 'vitest';
import type { Gang } from '../../model/kinds/gang.js';
import { type Stage, stages } from '../../model/stages.js';
import { objectOf } from '../../model/fake-objects.fixture.js';
import { type PlanInput, planWorkload, stepsMax, type WorkloadStep } from './plan-workload.js';
import { revisionOf } from './revision-of.js';
import { inputOf, nodeOf, replicaOf, workloadOf } from './workload.fixture.js';

/** A step as one line: what is done, to whom, and what matters of it. */
function shown(step: WorkloadStep): string {
  switch (step.kind) {
    case 'Incarnate':
      return `Incarnate ${step.slot}/${step.incarnation} ${step.stage}`;
    case 'Queue':
      return `Queue ${step.replica.metadata.name}`;
    case 'Release':
    case 'Evict':
      return `${step.kind} ${step.replica.metadata.name} ${step.reason}`;
    case 'Forget':
      return `Forget ${step.replica.metadata.name}${step.dropSlot ? ' with slot' : ''}`;
    case 'CreateGang':
    case 'ChangeGang':
      return `${step.kind} ${step.spec.minAvailable}/${step.spec.members}`;
    case 'CreateRevision':
      return `CreateRevision ${step.spec.revision}`;
    case 'AddFinalizer':
    case 'RemoveFinalizer':
    case 'DeleteGang':
      return step.kind;
  }
}
const plan = (input: PlanInput): string[] => planWorkload(input).steps.map(shown);
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const service = (replicas: number, more: object = {}) => workloadOf({ replicas, ...more });
const batch = (spec: object, limits: object = {}) =>
  workloadOf({ type: 'Batch', replicas: 2, batch: { completions: 4, backoffLimit: 1, ...limits }, ...spec });
const daemon = (placement: object = {}) => workloadOf({ type: 'Daemon', placement });

describe('the plan of a new workload', () => {
  it('makes finalizer and revision before the first incarnation', () => {
    expect(plan(inputOf(workloadOf({ replicas: 2 }, { finalizers: [] }), [], { revisions: [] }))).toEqual([
      'AddFinalizer',
      'CreateRevision 1',
      'Incarnate 0/1 Queued',
      'Incarnate 1/1 Queued',
    ]);
  });

  it('numbers a new revision above all that are there', () => {
    const input = inputOf(workloadOf({ template: { run: { process: { command: ['new'] } } }, replicas: 0 }));
    const { revisions } = inputOf(service(1));
    expect(plan({ ...input, revisions })).toEqual(['CreateRevision 2']);
  });

  it('makes a gang before its members, and changes it when the workload grows', () => {
    const workload = service(3, { gang: { minAvailable: 2 } });
    const steps = planWorkload(inputOf(workload)).steps;
    expect(steps.map(shown).slice(0, 2)).toEqual(['CreateGang 2/3', 'Incarnate 0/1 Queued']);
    expect(steps[1]).toMatchObject({ gang: 'web', revision: revisionOf(workload).name });
    const gang = objectOf('Gang', 't', 'web', { spec: { workload: 'web', minAvailable: 2, members: 2 } });
    expect(plan(inputOf(workload, [], { gang: gang as Gang }))[0]).toBe('ChangeGang 2/3');
    const smaller = service(1, { gang: { minAvailable: 2 } });
    expect(plan(inputOf(smaller))[0], 'no more than there are members').toBe('CreateGang 1/1');
    expect(plan(inputOf(service(0, { gang: { minAvailable: 1 } })))).toEqual([]);
  });

  it('[L7] a gang goes with the last of its members, once nobody wants one', () => {
    const gang = objectOf('Gang', 't', 'web', { spec: { workload: 'web', minAvailable: 1, members: 1 } });
    const left = (stage: Stage) => plan(inputOf(service(0), [member(stage)], { gang: gang as Gang }));
    const member = (stage: Stage) => {
      const replica = replicaOf(0, stage);
      return { ...replica, spec: { ...replica.spec, gang: 'web' } };
    };
    expect(left('Queued')).toEqual(['Release web-0-1 ScaledDown']);
    expect(left('Releasing')).toEqual([]);
    expect(left('Released')).toEqual(['DeleteGang', 'Forget web-0-1 with slot']);
  });

  it('holds replicas back while it is suspended, and queues them after', () => {
    expect(plan(inputOf(service(1, { suspend: true })))).toEqual(['Incarnate 0/1 Admitted']);
    const held = [replicaOf(0, 'Admitted')];
    expect(plan(inputOf(service(1, { suspend: true }), held))).toEqual([]);
    expect(plan(inputOf(service(1), held))).toEqual(['Queue web-0-1']);
  });

  it('comes in parts with a bounded number of steps, and together they are all of it', () => {
    const slots: string[] = [];
    let parts = 0;
    for (
      let part: ReturnType<typeof planWorkload> | undefined = planWorkload(
        inputOf(service(2 * stepsMax + 1)),
      );
      part !== undefined;
      part = part.more?.()
    ) {
      expect(part.steps.length).toBeLessThanOrEqual(stepsMax);
      for (const step of part.steps) if (step.kind === 'Incarnate') slots.push(step.slot);
      parts += 1;
    }
    expect(parts).toBe(3);
    expect(slots).toEqual(Array.from({ length: 2 * stepsMax + 1 }, (_, slot) => String(slot)));
    expect(planWorkload(inputOf(service(stepsMax))).more).toBeUndefined();
  });
});

describe('the plan of a slot that is wanted', () => {
  it.each<[Stage, string[]]>(
    stages.map((stage) => [
      stage,
      ['Succeeded', 'Failed', 'Released'].includes(stage)
        ? ['Incarnate 0/2 Queued']
        : stage === 'Admitted'
          ? ['Queue web-0-1']
          : [],
    ]),
  )('with a replica that is %s is %j', (stage, expected) => {
    expect(plan(inputOf(service(1), [replicaOf(0, stage)]))).toEqual(expected);
  });

  it.each<[Stage, string[]]>([
    ['Queued', ['Release web-0-1 Deleted']],
    ['Serving', ['Evict web-0-1 Deleted']],
    ['Releasing', []],
    ['Failed', ['Incarnate 0/2 Queued']],
  ])('with a replica that is %s and deleted is %j', (stage, expected) => {
    expect(plan(inputOf(service(1), [replicaOf(0, stage, { isDeleted: true })]))).toEqual(expected);
  });

  it('keeps the two newest that have ended, and always the one that the slot names', () => {
    const ended = [1, 2, 3, 4].map((incarnation) => replicaOf(0, 'Failed', { incarnation }));
    expect(plan(inputOf(service(1), [...ended, replicaOf(0, 'Ready', { incarnation: 5 })]))).toEqual([
      'Forget web-0-2',
      'Forget web-0-1',
    ]);
    expect(plan(inputOf(service(1), ended, { endedMs: () => 0 }))).toEqual([
      'Forget web-0-2',
      'Forget web-0-1',
    ]);
  });

  it('forgets an ended one at once when it is deleted and the slot names another', () => {
    const replicas = [replicaOf(0, 'Failed', { isDeleted: true }), replicaOf(0, 'Ready', { incarnation: 2 })];
    expect(plan(inputOf(service(1), replicas))).toEqual(['Forget web-0-1']);
  });

  it('[S12] makes one beside a lost one when repair says so, and not a second', () => {
    const replaceable = {
      ...{ type: 'Replaceable', status: 'True' as const, reason: 'SilentForLong', message: '' },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const lost = replicaOf(0, 'Unknown', { conditions: [replaceable] });
    expect(plan(inputOf(service(1), [replicaOf(0, 'Unknown')]))).toEqual([]);
    expect(plan(inputOf(service(1), [lost]))).toEqual(['Incarnate 0/2 Queued']);
    const again = replicaOf(0, 'Unknown', { incarnation: 2, conditions: [replaceable] });
    expect(plan(inputOf(service(1), [replicaOf(0, 'Unknown'), again]))).toEqual([]);
    expect(plan(inputOf(service(0), [lost]))).toEqual(['Evict web-0-1 ScaledDown']);
  });

  describe.each([
    ['AtMostOne', { template: { run: {}, execution: 'AtMostOne' }, onNodeLost: { action: 'Fence' } }],
    ['Wait', { onNodeLost: { action: 'Wait' } }],
  ])('[S5] while a lost copy has not ended and its workload has come to say %s', (_, spec) => {
    const withLost = (stage: Stage, lost: Stage = 'Unknown', more: object = {}) => {
      const workload = service(1, { ...spec, ...more });
      const { revisions } = inputOf(workload);
      return plan({
        ...inputOf(workload, [replicaOf(0, lost), replicaOf(0, stage, { incarnation: 2 })]),
        revisions,
      });
    };

    it('makes nothing after its replacement, whether the copy is silent or stopping', () => {
      for (const stage of ['Released', 'Failed', 'Succeeded'] as const)
        for (const lost of ['Unknown', 'Releasing'] as const) expect(withLost(stage, lost)).toEqual([]);
      expect(withLost('Released', 'Released')).toEqual(['Incarnate 0/3 Queued']);
    });

    it('takes a replacement back that was not bound yet, and leaves one that was', () => {
      for (const stage of ['Admitted', 'Queued', 'Scheduled'] as const)
        expect(withLost(stage)).toEqual(['Release web-0-2 AwaitsLostCopy']);
      expect(withLost('Admitted', 'Unknown', { suspend: true })).toEqual(['Release web-0-2 AwaitsLostCopy']);
      for (const stage of ['Bound', 'Starting', 'Ready', 'Serving', 'Releasing'] as const)
        expect(withLost(stage)).toEqual([]);
    });

    it('keeps the slot of the copy when the workload is scaled down or deleted', () => {
      expect(withLost('Released', 'Unknown', { replicas: 0 })).toEqual(['Evict web-0-1 ScaledDown']);
      const workload = workloadOf(spec, deleted);
      const replicas = [replicaOf(0, 'Unknown'), replicaOf(0, 'Released', { incarnation: 2 })];
      expect(plan(inputOf(workload, replicas))).toEqual(['Evict web-0-1 Deleted']);
    });
  });

  it('leaves a lost one that was replaced to repair', () => {
    const replicas = [replicaOf(0, 'Unknown'), replicaOf(0, 'Ready', { incarnation: 2 })];
    expect(plan(inputOf(service(1), replicas))).toEqual([]);
  });

  it.each([
    [0, 'Failed', 1_000],
    [3, 'Failed', 8_000],
    [30, 'Failed', 300_000],
    [3, 'Succeeded', 8_000],
    [3, 'Released', undefined],
  ] as const)('after %i failures and then %s waits %s ms for the next', (failures, stage, waitMs) => {
    const input = inputOf(service(1), [replicaOf(0, stage, { failures, incarnation: failures + 1 })], {
      endedMs: () => 0,
    });
    const planned = planWorkload(input);
    expect(planned.waitMs).toBe(waitMs);
    expect(planned.steps.map(({ kind }) => kind)).toEqual(waitMs === undefined ? ['Incarnate'] : []);
    const later = planWorkload({ ...input, endedMs: () => waitMs ?? 0 });
    expect(later.steps[0]).toMatchObject({
      kind: 'Incarnate',
      failuresBefore: failures + (stage === 'Released' ? 0 : 1),
    });
  });

  it('counts failures anew after one that had served', () => {
    const replica = replicaOf(0, 'Failed', { failures: 5 });
    const [first] = replica.status?.transitions ?? [];
    if (first === undefined) throw new Error('no transition');
    const transitions = [
      first,
      { ...first, to: 'Serving' as const, at: '2026-01-01T00:01:00Z' },
      { ...first, to: 'Failed' as const, at: '2026-01-01T00:02:00Z' },
    ];
    const input = inputOf(service(1), [replicaOf(0, 'Failed', { failures: 5, transitions })]);
    expect(planWorkload(input).steps[0]).toMatchObject({ failuresBefore: 1 });
  });
});

describe('the plan of a slot that is not wanted any more', () => {
  it.each<[Stage, string[]]>([
    ['Admitted', ['Release web-1-1 ScaledDown']],
    ['Queued', ['Release web-1-1 ScaledDown']],
    ['Scheduled', ['Release web-1-1 ScaledDown']],
    ['Bound', ['Evict web-1-1 ScaledDown']],
    ['Serving', ['Evict web-1-1 ScaledDown']],
    ['Unknown', ['Evict web-1-1 ScaledDown']],
    ['Releasing', []],
    ['Failed', ['Forget web-1-1 with slot']],
    ['Released', ['Forget web-1-1 with slot']],
  ])('with a replica that is %s is %j', (stage, expected) => {
    expect(plan(inputOf(service(1), [replicaOf(0, 'Ready'), replicaOf(1, stage)]))).toEqual(expected);
  });

  it('lets the highest go first', () => {
    const replicas = [0, 1, 2, 9, 10, 11].map((slot) => replicaOf(slot, 'Ready'));
    expect(plan(inputOf(service(2), replicas))).toEqual([
      'Evict web-11-1 ScaledDown',
      'Evict web-10-1 ScaledDown',
      'Evict web-9-1 ScaledDown',
      'Evict web-2-1 ScaledDown',
    ]);
  });

  it('does not ask twice for a lost one that was asked to go', () => {
    const intent = { actor: 'a', reason: 'ScaledDown', operation: 'o', at: '2026-01-01T00:00:00Z' };
    expect(plan(inputOf(service(0), [replicaOf(0, 'Unknown', { intent })]))).toEqual([]);
  });

  it('drops the slot last, when nothing of it is left', () => {
    const lost = replicaOf(0, 'Unknown');
    const current = replicaOf(0, 'Released', { incarnation: 2 });
    expect(plan(inputOf(service(0), [lost, current]))).toEqual(['Evict web-0-1 ScaledDown']);
    expect(plan(inputOf(service(0), [replicaOf(0, 'Failed'), current]))).toEqual(['Forget web-0-1']);
    expect(plan(inputOf(service(0), [current]))).toEqual(['Forget web-0-2 with slot']);
  });
});

describe('the plan of a workload that is deleted', () => {
  it('ends and forgets every replica and makes none', () => {
    const replicas = [replicaOf(0, 'Ready'), replicaOf(1, 'Queued'), replicaOf(2, 'Failed')];
    expect(plan(inputOf(workloadOf({ replicas: 5 }, deleted), replicas, { revisions: [] }))).toEqual([
      'Forget web-2-1 with slot',
      'Release web-1-1 Deleted',
      'Evict web-0-1 Deleted',
    ]);
  });

  it('lets the workload go when no replica is left, and not before', () => {
    expect(plan(inputOf(workloadOf({}, deleted), [replicaOf(0, 'Releasing')]))).toEqual([]);
    expect(plan(inputOf(workloadOf({}, deleted)))).toEqual(['RemoveFinalizer']);
    expect(plan(inputOf(workloadOf({}, { ...deleted, finalizers: ['other'] })))).toEqual([]);
  });
});

describe('the plan of a batch', () => {
  it('runs so many at once, lower indexes first', () => {
    expect(plan(inputOf(batch({})))).toEqual(['Incarnate 0/1 Queued', 'Incarnate 1/1 Queued']);
    expect(plan(inputOf(batch({}), [replicaOf(0, 'Ready'), replicaOf(1, 'Succeeded')]))).toEqual([
      'Incarnate 2/1 Queued',
    ]);
    expect(plan(inputOf(batch({}), [replicaOf(3, 'Unknown'), replicaOf(0, 'Releasing')]))).toEqual([]);
  });

  it('is over when every index has succeeded', () => {
    expect(
      plan(
        inputOf(
          batch({}),
          [0, 1, 2, 3].map((slot) => replicaOf(slot, 'Succeeded')),
        ),
      ),
    ).toEqual([]);
  });

  it('retries an index that failed until its limit, then makes nothing new', () => {
    expect(plan(inputOf(batch({}), [replicaOf(0, 'Failed')]))).toEqual([
      'Incarnate 0/2 Queued',
      'Incarnate 1/1 Queued',
    ]);
    const spent = replicaOf(0, 'Failed', { incarnation: 2, failures: 1 });
    expect(plan(inputOf(batch({}), [spent, replicaOf(1, 'Ready')]))).toEqual([]);
    expect(plan(inputOf(batch({}, { backoffLimit: 0 }), [replicaOf(0, 'Failed')]))).toEqual([]);
  });

  it('does not count an incarnation that was evicted as a failure', () => {
    const evicted = replicaOf(0, 'Released', { incarnation: 7 });
    expect(plan(inputOf(batch({ replicas: 1 }), [evicted]))).toEqual(['Incarnate 0/8 Queued']);
  });

  it('gives the place of an index that backs off to another', () => {
    const input = inputOf(batch({ replicas: 1 }), [replicaOf(0, 'Failed')], { endedMs: () => 400 });
    expect(planWorkload(input).waitMs).toBe(600);
    expect(plan(input)).toEqual(['Incarnate 1/1 Queued']);
  });

  it('ends the highest when fewer may run at once, and lets them come again', () => {
    const replicas = [0, 1, 2].map((slot) => replicaOf(slot, 'Ready'));
    expect(plan(inputOf(batch({ replicas: 1 }), replicas))).toEqual([
      'Evict web-2-1 ScaledDown',
      'Evict web-1-1 ScaledDown',
    ]);
    const later = [replicaOf(0, 'Succeeded'), replicaOf(1, 'Released'), replicaOf(2, 'Released')];
    expect(plan(inputOf(batch({ replicas: 1 }), later))).toEqual(['Incarnate 1/2 Queued']);
  });

  it('drops indexes past its completions', () => {
    const replicas = [replicaOf(0, 'Ready'), replicaOf(1, 'Ready'), replicaOf(3, 'Succeeded')];
    expect(plan(inputOf(batch({}, { completions: 2 }), replicas))).toEqual(['Forget web-3-1 with slot']);
  });
});

describe('the plan of a daemon', () => {
  const nodes = [
    nodeOf('a', {}, { pool: 'gpu' }),
    nodeOf('b', { zone: 'b' }, { pool: 'gpu' }),
    nodeOf('c', { region: 'us' }),
    nodeOf('d', { unschedulable: true }, { pool: 'gpu' }),
    nodeOf('e', { drain: {} }, { pool: 'gpu' }),
    nodeOf('f', { tenants: ['other'] }, { pool: 'gpu' }),
    nodeOf('g', { tenants: ['other', 't'] }),
  ];
  it.each<[object, string[]]>([
    [{}, ['a', 'b', 'c', 'g']],
    [{ regions: ['eu'] }, ['a', 'b', 'g']],
    [{ regions: ['eu'], zones: ['b'] }, ['b']],
    [{ nodeSelector: { pool: 'gpu' } }, ['a', 'b']],
    [{ nodeSelector: { pool: 'cpu' } }, []],
  ])('with placement %j has a replica on %j', (placement, expected) => {
    expect(plan(inputOf(daemon(placement), [], { nodes }))).toEqual(
      expected.map((node) => `Incarnate ${node}/1 Queued`),
    );
  });

  it('leaves replicas where no new ones may come, and takes them from nodes that are gone', () => {
    const replicas = ['d', 'e', 'gone'].map((node) => replicaOf(node, 'Ready'));
    const placed = inputOf(daemon({ nodeSelector: { pool: 'gpu' }, zones: ['a'] }), replicas, { nodes });
    expect(plan(placed)).toEqual(['Evict web-gone-1 ScaledDown', 'Incarnate a/1 Queued']);
    const ended = inputOf(
      daemon({ zones: ['a'], nodeSelector: { pool: 'gpu' } }),
      [replicaOf('d', 'Failed')],
      {
        nodes: nodes.slice(3),
      },
    );
    expect(plan(ended), 'nothing new on a node that is not schedulable').toEqual([]);
  });
});
