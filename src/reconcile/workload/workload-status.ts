import { isDeepStrictEqual } from 'node:util';
import { completionsOf } from '../../model/completions.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload, WorkloadStatus } from '../../model/kinds/workload.js';
import { awaitedCopy, waitsForCopy } from './awaited-copy.js';
import { failuresAfter } from './failures.js';
import { ProgressTally } from './progress.js';
import { factsOf, type ReplicaFacts } from './replica-facts.js';
import { revisionOf } from './revision-of.js';
import type { Slot } from './slot.js';
import { hasBatchFailed, slotWishes, stageOf, type WishInput } from './slot-wishes.js';

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
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const isService = spec.type === 'Service' || spec.type === undefined;
  // Of a service the first slots are wanted, whatever is in them; of others it depends, and they are gone through below.
  const firstSlots = isService && !isDeleting ? (spec.replicas ?? 1) : 0;
  const counts = new StageCounts(tally, updateRevision);
  let [wanted, absent] = [0, 0];
  let untilPause = slotsPerStep;
  // Neighbours that are alike are added up together.
  let run: Run | undefined;
  for (const slot of slots.values()) {
    const facts = factsOfSlot(workload, slot, run?.facts);
    if (run?.facts !== facts) {
      counts.addRun(run);
      run = { facts, count: 0, wanted: 0, first: slot.newest, firstAt: Number.POSITIVE_INFINITY };
    }
    run.count += 1;
    const { number } = slot;
    if (number < firstSlots) {
      run.wanted += 1;
      if (number < run.firstAt) {
        run.first = slot.newest;
        run.firstAt = number;
      }
    }
    if (slot.older.length > 0) {
      counts.addRun(run);
      run = undefined;
      for (const replica of slot.older) counts.add(factsOf(replica), 1);
    }
    if ((untilPause -= 1) === 0) untilPause = yield* pause();
  }
  counts.addRun(run);
  if (isService) {
    // One that went and came back meanwhile may have been seen twice.
    absent = Math.max(0, firstSlots - counts.wanted);
    wanted = firstSlots - absent;
    if (absent > 0) tally.areMissing('NotIncarnated', absent);
  } else if (!isDeleting)
    for (const [name, { kind }] of slotWishes(input)) {
      const slot = slots.get(name);
      const facts = slot && factsOfSlot(workload, slot);
      const isRun = kind === 'Run' || kind === 'Wait';
      if (slot !== undefined && facts !== undefined && (isRun || !facts.hasEnded)) {
        wanted += 1;
        tally.areWanted(facts, 1, slot.newest, wanted);
      } else if (slot === undefined && isRun) {
        absent += 1;
        tally.areMissing('NotIncarnated', 1);
      }
      if ((untilPause -= 1) === 0) untilPause = yield* pause();
    }
  const { live, ready, serving, unknown, updated } = counts;
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

/** Of the newest replica of a slot; where it has ended and a lost copy has not, the slot waits for that. */
function factsOfSlot(workload: Workload, slot: Slot, alike?: ReplicaFacts): ReplicaFacts {
  const facts = slot.facts(alike);
  if (!facts.hasEnded || slot.older.length === 0) return facts;
  const copy = awaitedCopy(workload, slot);
  return copy === undefined ? facts : { ...facts, waits: waitsForCopy(workload, copy) };
}

/** Slots next to each other whose newest replicas are alike. */
interface Run {
  readonly facts: ReplicaFacts;
  count: number;
  /** How many of the slots are wanted. */
  wanted: number;
  first: Replica;
  firstAt: number;
}

/** How many replicas there are that have not ended, and how far they are. */
class StageCounts {
  live = 0;
  ready = 0;
  serving = 0;
  unknown = 0;
  updated = 0;
  wanted = 0;

  constructor(
    private readonly tally: ProgressTally,
    private readonly updateRevision: string,
  ) {}

  addRun(run: Run | undefined): void {
    if (run === undefined) return;
    const { facts, count, wanted, first, firstAt } = run;
    this.add(facts, count);
    if (wanted === 0) return;
    this.wanted += wanted;
    this.tally.areWanted(facts, wanted, first, firstAt);
  }

  add({ stage, hasEnded, revision }: ReplicaFacts, count: number): void {
    this.tally.exist(stage, count);
    if (hasEnded) return;
    this.live += count;
    if (stage === 'Serving') this.serving += count;
    if (stage === 'Ready' || stage === 'Serving') this.ready += count;
    if (stage === 'Unknown') this.unknown += count;
    if (revision === this.updateRevision) this.updated += count;
  }
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
  for (const [slot, { newest }] of slots) if (Number(slot) < completions) currents.push(newest);
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
