import { completionsOf } from '../../model/completions.js';
import type { Explanation, PlacementFacts } from '../../model/explanation.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { explainReplica, type ObjectSide, shownRefusal, shownRoom } from './explain-replica.js';

export interface WorkloadFacts {
  readonly workload: Workload;
  /** All its replicas, ended ones too. */
  readonly replicas: readonly Replica[];
  /** Of the first replica that waits to be placed; absent if none does. */
  readonly placement: PlacementFacts | undefined;
}

/** How far a workload has come, which boundary limits it, and whose move is next. */
export function explainWorkload({ workload, replicas, placement }: WorkloadFacts): ObjectSide {
  const { metadata, spec, status } = workload;
  const stages: Partial<Record<Stage, number>> = {};
  for (const replica of replicas) {
    const stage = replica.status?.stage ?? 'Queued';
    stages[stage] = (stages[stage] ?? 0) + 1;
  }
  const { progress } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= metadata.generation;
  const isBatch = spec.type === 'Batch';
  const desired = isBatch ? completionsOf(spec) : (status?.desired ?? spec.replicas ?? 0);
  const there = isBatch ? (status?.batch?.succeeded ?? 0) : (status?.servingReplicas ?? 0);
  const isWaiting = (stages.Queued ?? 0) > 0;
  const cannot = isWaiting && placement?.isPlaceable === false && placement.room === undefined;
  const state = ((): Explanation['state'] => {
    if (isSeen && status?.conditions?.some(({ type, status: is }) => type === 'Failed' && is === 'True'))
      return 'Failed';
    if (cannot) return 'CannotBePlaced';
    if ((stages.Unknown ?? 0) > 0) return 'Unknown';
    return isSeen && progress?.reason === undefined && progress !== undefined ? 'AsWanted' : 'OnItsWay';
  })();
  const subject = `workload ${metadata.namespace}/${metadata.name}`;
  const notes = notesOf(workload, replicas, isSeen);
  if (!isSeen)
    return {
      state,
      stages,
      notes,
      limitedBy: 'Authority',
      reason: 'NotSeenYet',
      nextMove: 'workload-controller',
      ...(placement !== undefined && { placement }),
      answer: `${subject} has changed (generation ${metadata.generation}) and the workload controller has not looked at it yet`,
    };
  // Where most replicas wait is not where the one stands that cannot be placed, and that is the answer.
  const stuck = cannot ? replicas.find((one) => one.metadata.name === placement?.replica) : undefined;
  const side =
    stuck === undefined
      ? progress
      : explainReplica({
          ...{ replica: stuck, workload, placement },
          ...{ revision: undefined, node: undefined, gang: undefined },
        });
  const { limitedBy, reason, message, since, operation, nextMove, deadline } = side ?? {};
  return {
    state,
    stages,
    notes,
    ...(limitedBy !== undefined && { limitedBy }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    ...(since !== undefined && { since }),
    ...(operation !== undefined && { operation }),
    ...(nextMove !== undefined && { nextMove }),
    ...(deadline !== undefined && { deadline }),
    ...(placement !== undefined && { placement }),
    answer: `${subject} ${verdict({ state, there, desired, isBatch, limitedBy, reason, placement })}`,
  };
}

function verdict(parts: {
  readonly state: Explanation['state'];
  readonly there: number;
  readonly desired: number;
  readonly isBatch: boolean;
  readonly limitedBy: string | undefined;
  readonly reason: string | undefined;
  readonly placement: PlacementFacts | undefined;
}): string {
  const { state, there, desired, isBatch, limitedBy, reason, placement } = parts;
  const count = `${there} of ${desired} ${isBatch ? 'have succeeded' : 'serve'}`;
  if (state === 'AsWanted') return `is as it should be: ${count}`;
  if (state === 'Failed') return `has failed: ${reason ?? 'see its conditions'} (${count})`;
  if (state === 'CannotBePlaced' && placement !== undefined)
    return `cannot be placed: ${shownRefusal(placement, placement.replica)}; ${count}`;
  if (state === 'OnItsWay' && placement?.room !== undefined)
    return `is not complete: ${count}; ${shownRoom(placement.room, placement.replica)}`;
  const where = limitedBy === undefined ? '' : ` at ${limitedBy}`;
  return `is not complete: ${count}; it waits${where}${reason === undefined ? '' : `: ${reason}`}`;
}

function notesOf({ metadata, status }: Workload, replicas: readonly Replica[], isSeen: boolean): string[] {
  const notes: string[] = [];
  if (metadata.deletionTimestamp !== undefined)
    notes.push(
      `it is being deleted; ${replicas.filter((one) => !isTerminal(one.status?.stage ?? 'Queued')).length} replicas have not ended`,
    );
  for (const { type, status: is, reason, message } of isSeen ? (status?.conditions ?? []) : [])
    if (is === 'True' && type !== 'Progressing' && type !== 'Available')
      notes.push(`${type}: ${reason}${message === undefined || message === '' ? '' : ` (${message})`}`);
  return notes;
}
