import { isDeepStrictEqual } from 'node:util';
import { completionsOf } from '../../model/completions.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadStatus } from '../../model/kinds/workload.js';
import { failuresAfter } from './failures.js';
import { ProgressTally } from './progress.js';
import { revisionOf } from './revision-of.js';
import { hasBatchFailed, hasEnded, slotWishes, stageOf, type WishInput } from './slot-wishes.js';

type Condition = NonNullable<WorkloadStatus['conditions']>[number];
type ConditionDraft = readonly [type: string, isSo: boolean, reason: string, message: string];

/** The label that every replica carries with the name of its workload. */
export const workloadLabel = 'berth.dev/workload';

// Others may run after so many slots.
const slotsPerStep = 2_000;

/**
 * The status of a workload from what is there. Equal to the previous one, times included, if nothing changed. A step
 * at a time: who takes them lets others run in between, for a workload may have very many replicas.
 */
export function* workloadStatus(input: WishInput, now: string): Generator<undefined, WorkloadStatus> {
  const { workload, slots } = input;
  const { spec, metadata, status: previous } = workload;
  const isBatch = spec.type === 'Batch';
  const updateRevision = revisionOf(workload).name;
  const startDeadlineSeconds = spec.template.startDeadlineSeconds ?? 300;
  const tally = new ProgressTally({ isBatch, startDeadlineSeconds });
  let [live, ready, serving, unknown, updated, wanted, absent] = [0, 0, 0, 0, 0, 0, 0];
  let untilPause = slotsPerStep;
  for (const replicas of slots.values()) {
    for (const replica of replicas) {
      tally.exists(replica);
      if (hasEnded(replica)) continue;
      const stage = stageOf(replica);
      live += 1;
      if (stage === 'Serving') serving += 1;
      if (stage === 'Ready' || stage === 'Serving') ready += 1;
      if (stage === 'Unknown') unknown += 1;
      if (replica.spec.revision === updateRevision) updated += 1;
    }
    if ((untilPause -= 1) === 0) untilPause = yield* pause();
  }
  if (metadata.deletionTimestamp === undefined)
    for (const [slot, { kind }] of slotWishes(input)) {
      const replica = slots.get(slot)?.[0];
      const isRun = kind === 'Run' || kind === 'Wait';
      if (replica !== undefined && (isRun || !hasEnded(replica))) {
        wanted += 1;
        tally.isWanted(replica);
      } else if (replica === undefined && isRun) {
        absent += 1;
        tally.isMissing('NotIncarnated');
      }
      if ((untilPause -= 1) === 0) untilPause = yield* pause();
    }
  // A slot of a batch that waits for its next try has given its place to another meanwhile.
  const mostAtOnce = isBatch ? (spec.replicas ?? 1) : Number.POSITIVE_INFINITY;
  const desired = Math.min(mostAtOnce, wanted + absent);
  const isUpdated = updated === live && absent === 0;
  const progress = tally.result(previous?.progress, now);
  const batch = isBatch ? batchStatus(input, now) : undefined;
  // Ready is not enough: a service is there for clients when they are sent to it.
  const isServing = serving >= desired;
  const isComplete = isBatch
    ? (batch?.succeeded ?? 0) >= completionsOf(spec)
    : isServing && live === desired && isUpdated;
  const hasFailed = isBatch && hasBatchFailed(workload, slots);
  const selector = `${workloadLabel}=${metadata.name}`;
  const drafts: ConditionDraft[] = [
    [
      'Progressing',
      !isComplete && !hasFailed,
      hasFailed ? 'Failed' : isComplete ? 'Complete' : (progress.reason ?? 'InProgress'),
      isComplete || hasFailed ? '' : `limited by ${progress.limitedBy ?? 'what is not known or ending'}`,
    ],
    isBatch
      ? ['Complete', isComplete, isComplete ? 'AllSucceeded' : 'NotAllSucceeded', '']
      : ['Available', isServing, isServing ? 'AllServing' : 'NotAllServing', ''],
    [
      'Failed',
      hasFailed,
      hasFailed ? 'BackoffLimitExceeded' : 'NotFailed',
      hasFailed ? `a slot has failed more than ${spec.batch?.backoffLimit ?? 6} times after the first` : '',
    ],
    [
      'Unknown',
      unknown > 0,
      unknown > 0 ? 'ReplicasUnknown' : 'AllKnown',
      unknown > 0 ? `of ${unknown} replicas it is not known whether they run` : '',
    ],
  ];
  const status: WorkloadStatus = {
    ...previous,
    ...{ observedGeneration: metadata.generation, desired, replicas: live, readyReplicas: ready },
    ...{ servingReplicas: serving, updatedReplicas: updated, unknownReplicas: unknown, selector },
    currentRevision: isUpdated ? updateRevision : (previous?.currentRevision ?? updateRevision),
    updateRevision,
    progress,
    ...(batch !== undefined && { batch }),
    conditions: withTimes(drafts, previous?.conditions ?? [], metadata.generation, now),
  };
  return isDeepStrictEqual(status, previous) && previous !== undefined ? previous : status;
}

function* pause(): Generator<undefined, number> {
  yield;
  return slotsPerStep;
}

/** Conditions of others stay; of ours, a time changes only when the answer does. */
function withTimes(
  drafts: readonly ConditionDraft[],
  before: readonly Condition[],
  observedGeneration: number,
  now: string,
): Condition[] {
  const ours = new Set(drafts.map(([type]) => type));
  const made = drafts.map(([type, isSo, reason, message]): Condition => {
    const status = isSo ? 'True' : 'False';
    const known = before.find((condition) => condition.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : now;
    return { type, status, reason, message, lastTransitionTime, observedGeneration };
  });
  return [...made, ...before.filter(({ type }) => !ours.has(type))];
}

function batchStatus({ workload, slots }: WishInput, now: string): NonNullable<WorkloadStatus['batch']> {
  const previous = workload.status?.batch;
  const completions = completionsOf(workload.spec);
  const currents: Replica[] = [];
  for (const [slot, [current]] of slots)
    if (current !== undefined && Number(slot) < completions) currents.push(current);
  const succeeded = currents.filter((replica) => stageOf(replica) === 'Succeeded').length;
  const failed = currents.reduce((sum, replica) => sum + failuresAfter(replica, 'Batch'), 0);
  const isOver = succeeded >= completions || hasBatchFailed(workload, slots);
  return {
    ...previous,
    succeeded,
    failed,
    ...(currents.length > 0 && { startedAt: previous?.startedAt ?? now }),
    ...(isOver && { finishedAt: previous?.finishedAt ?? now }),
  };
}
