import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Replica } from '../../model/kinds/replica.js';
import { boundaries, type Workload, type WorkloadStatus } from '../../model/kinds/workload.js';
import { stages } from '../../model/stages.js';
import { waitingMessage, waitingOf } from '../../model/waiting.js';
import { type PlanInput, planWorkload, type WorkloadStep } from './plan-workload.js';
import { revisionOf } from './revision-of.js';
import type { Slot } from './slot.js';
import { SlotIndex } from './slot-index.js';
import { hasEnded, slotWishes, stageOf } from './slot-wishes.js';
import { boundTo, inputOf, nodeOf, replicaOf, workloadOf } from './workload.fixture.js';
import { workloadStatus } from './workload-status.js';

const now = '2026-01-01T01:00:00Z';
const slotNames = ['0', '1', '2', '3', '4', '5', '007', 'x'];

/** One replica of a slot comes, changes or goes. */
const change = fc.record({
  slot: fc.constantFrom(...slotNames),
  incarnation: fc.integer({ min: 1, max: 2 }),
  isGone: fc.boolean(),
  // Mostly two stages: whole workloads come to rest, and neighbours are alike.
  stage: fc.oneof(fc.constantFrom('Bound', 'Serving'), fc.constantFrom(...stages)),
  node: fc.constantFrom('n1', 'n2'),
  reason: fc.constantFrom(undefined, 'NodeFull', 'QuotaExceeded'),
  boundAt: fc.constantFrom(undefined, '2026-01-01T00:00:05Z', '2026-01-01T00:00:09Z'),
  isOld: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
  isDeleted: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
  step: fc.constantFrom(undefined, 'Pulling'),
});
type Changed = typeof change extends fc.Arbitrary<infer T> ? T : never;

function replicaAfter({ slot, incarnation, stage, node, reason, boundAt, ...more }: Changed): Replica {
  const shape = {
    ...{ incarnation, isDeleted: more.isDeleted, ...boundTo(node) },
    ...(more.isOld && { revision: 'web-old' }),
    ...(more.step !== undefined && { step: more.step }),
    ...(reason !== undefined && {
      conditions: [
        {
          type: 'SchedulingRetrying',
          status: 'True',
          reason,
          message: slot,
          lastTransitionTime: now,
        } as const,
      ],
    }),
  };
  const made = replicaOf(slot, stage, shape);
  const bound = { to: 'Bound', actor: 's', reason: 'Placed', revision: '2', at: boundAt, operation: slot };
  const transitions = [...(made.status?.transitions ?? []), ...(boundAt === undefined ? [] : [bound])];
  return { ...made, status: { ...made.status, transitions } } as Replica;
}

type Counted = Pick<
  WorkloadStatus,
  | 'desired'
  | 'replicas'
  | 'readyReplicas'
  | 'servingReplicas'
  | 'updatedReplicas'
  | 'unknownReplicas'
  | 'progress'
>;

/** The same, replica by replica, from what the wishes say of each slot. */
function counted(input: PlanInput): Counted {
  const { workload, slots } = input;
  const isBatch = workload.spec.type === 'Batch';
  const all = [...slots.values()].flatMap(({ newest, older }) => [newest, ...older]);
  const live = all.filter((replica) => !hasEnded(replica));
  const count = (...some: string[]): number =>
    live.filter((replica) => some.includes(stageOf(replica))).length;
  const wishes = workload.metadata.deletionTimestamp === undefined ? [...slotWishes(input)] : [];
  const wanted: Replica[] = [];
  let absent = 0;
  for (const [name, { kind }] of wishes) {
    const isRun = kind === 'Run' || kind === 'Wait';
    const newest = slots.get(name)?.newest;
    if (newest !== undefined && (isRun || !hasEnded(newest))) wanted.push(newest);
    else if (newest === undefined && isRun) absent += 1;
  }
  const waiting = [
    ...wanted.flatMap((replica) => waitingOf(replica, isBatch) ?? []),
    ...Array.from({ length: absent }, () => ({
      ...{ boundary: 'Authority' as const, reason: 'NotIncarnated', nextMove: undefined, replica: undefined },
    })),
  ];
  const most = Math.max(
    ...boundaries.map((one) => waiting.filter(({ boundary }) => boundary === one).length),
  );
  const limitedBy = boundaries.find(
    (one) => most > 0 && waiting.filter(({ boundary }) => boundary === one).length === most,
  );
  const there = waiting.filter(({ boundary }) => boundary === limitedBy);
  const reason = mostOf(there.map((one) => one.reason));
  const group = there.filter((one) => one.reason === reason);
  const first = group.find(({ replica }) => replica !== undefined)?.replica;
  const message = first === undefined ? '' : waitingMessage(first);
  const operation = first?.status?.transitions?.at(-1)?.operation;
  const [boundAt] = there
    .filter(({ replica }) => ['Bound', 'Starting'].includes(replica?.status?.stage ?? ''))
    .flatMap(({ replica }) => replica?.status?.transitions?.findLast(({ to }) => to === 'Bound')?.at ?? [])
    .toSorted();
  const byStage: Record<string, number> = {};
  for (const replica of all) byStage[stageOf(replica)] = (byStage[stageOf(replica)] ?? 0) + 1;
  const mostAtOnce = isBatch ? (workload.spec.replicas ?? 1) : Number.POSITIVE_INFINITY;
  const deadline = boundAt && new Date(Date.parse(boundAt) + 300_000).toISOString().replace('.000', '');
  return {
    desired: Math.min(mostAtOnce, wanted.length + absent),
    replicas: live.length,
    ...{ readyReplicas: count('Ready', 'Serving'), servingReplicas: count('Serving') },
    updatedReplicas: live.filter(({ spec }) => spec.revision === revisionOf(workload).name).length,
    unknownReplicas: count('Unknown'),
    progress: {
      stages: byStage,
      ...(reason !== undefined && {
        ...(limitedBy !== undefined && { limitedBy, since: now }),
        reason,
        ...(message !== '' && { message }),
        ...(operation !== undefined && { operation }),
        nextMove: mostOf(group.flatMap(({ nextMove }) => nextMove ?? [])) ?? 'workload-controller',
        ...(deadline !== undefined && { deadline }),
      }),
    },
  };
}

function mostOf(texts: readonly string[]): string | undefined {
  const countOf = (text: string): number => texts.filter((one) => one === text).length;
  return texts.toSorted((a, b) => countOf(b) - countOf(a) || (a < b ? -1 : 1))[0];
}

function statusOf(input: PlanInput): WorkloadStatus {
  const steps = workloadStatus(input, now);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same slots, but never as many as are wished: each is gone through. */
class Uncounted extends Map<string, Slot> {
  override get size(): number {
    return -1;
  }
}

const stepsOf = (input: PlanInput): WorkloadStep[] => [...planWorkload(input).steps];

const workload: fc.Arbitrary<Workload> = fc
  .record({
    type: fc.constantFrom('Service', 'Service', 'Batch', 'Daemon'),
    replicas: fc.integer({ min: 0, max: 6 }),
    isDeleting: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
  })
  .map(({ type, replicas, isDeleting }) =>
    workloadOf(
      { type, replicas, ...(type === 'Batch' && { batch: { completions: 5 } }) },
      isDeleting ? { deletionTimestamp: now } : {},
    ),
  );

describe('a workload that is looked at again and again while its replicas change', () => {
  it('has the status, and the plan, that going through all of them gives', () => {
    fc.assert(
      fc.property(
        workload,
        fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 8 }),
        (asked, turns) => {
          const objects = new FakeObjects();
          const index = new SlotIndex(objects);
          index.start(new AbortController().signal);
          const nodes = [nodeOf('x'), nodeOf('1', { unschedulable: true })];
          for (const turn of turns) {
            for (const one of turn) {
              const replica = replicaAfter(one);
              if (!one.isGone) objects.put(replica);
              else
                void objects
                  .delete('Replica', 't', replica.metadata.name, replica.metadata.uid)
                  .catch(() => 0);
            }
            const slots = index.slotsOf('t/web', 'uid-web');
            const input = { ...inputOf(asked, [], { nodes }), slots };
            const whole = counted(input);
            expect(statusOf(input)).toMatchObject(whole);
            expect(statusOf(input).progress).toEqual(whole.progress);
            if (asked.metadata.deletionTimestamp === undefined)
              expect(stepsOf(input)).toEqual(stepsOf({ ...input, slots: new Uncounted(slots) }));
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
