import type { Replica } from '../../model/kinds/replica.js';
import { boundaries, type Boundary, type WorkloadStatus } from '../../model/kinds/workload.js';
import { type Waiting, waitingMessage, waitingOf } from '../../model/waiting.js';

export type Progress = NonNullable<WorkloadStatus['progress']>;

export interface ProgressInput {
  /** All its replicas, ended ones too. */
  readonly replicas: readonly Replica[];
  /** The newest of each slot that is wanted: what has to come forward. */
  readonly wanted: readonly Replica[];
  /** How many slots have no replica yet, and why. */
  readonly missing: { readonly count: number; readonly reason: string };
  /** A batch that runs is where it should be; a service only when it takes traffic. */
  readonly isBatch: boolean;
  readonly startDeadlineSeconds: number;
  readonly previous: Progress | undefined;
  readonly now: string;
}

/** The most frequent of some texts; the first in the alphabet where two are equally frequent. */
function mostFrequent(texts: Iterable<string>): string | undefined {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [top] = [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return top?.[0];
}

/**
 * [L6] What limits a workload now. The boundary at which most of what is missing waits, an earlier one where two
 * are equal: what waits there holds up the rest. Without a boundary, what else is not as it should be is told.
 */
export function progressOf(input: ProgressInput): Progress {
  const { replicas, wanted, missing, isBatch, previous, now } = input;
  const stages: Record<string, number> = {};
  for (const { status } of replicas) {
    const stage = status?.stage ?? 'Queued';
    stages[stage] = (stages[stage] ?? 0) + 1;
  }
  const waiting = wanted.flatMap((replica) => waitingOf(replica, isBatch) ?? []);
  const counts = new Map<Boundary, number>();
  if (missing.count > 0) counts.set('Authority', missing.count);
  for (const { boundary } of waiting)
    if (boundary !== undefined) counts.set(boundary, (counts.get(boundary) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  const limitedBy = boundaries.find((boundary) => counts.get(boundary) === most && most > 0);

  const there = waiting.filter(({ boundary }) => boundary === limitedBy);
  const reasonsThere = there.map(({ reason }) => reason);
  if (limitedBy === 'Authority')
    for (let count = 0; count < missing.count; count++) reasonsThere.push(missing.reason);
  const reason = mostFrequent(reasonsThere);
  if (reason === undefined) return { stages };
  const first = there.find((one) => one.reason === reason);
  const nextMove = mostFrequent(there.filter((one) => one.reason === reason).map((one) => one.nextMove));
  const message = first?.replica === undefined ? '' : waitingMessage(first.replica);
  const operation = first?.replica?.status?.transitions?.at(-1)?.operation;
  const deadline = deadlineOf(there, input.startDeadlineSeconds);
  return {
    stages,
    ...(limitedBy !== undefined && {
      limitedBy,
      since: previous?.limitedBy === limitedBy && previous.since !== undefined ? previous.since : now,
    }),
    reason,
    ...(message !== '' && { message }),
    ...(operation !== undefined && { operation }),
    nextMove: nextMove ?? 'workload-controller',
    ...(deadline !== undefined && { deadline }),
  };
}

/** When the first of those that start has to be ready, for people to read. */
function deadlineOf(waiting: readonly Waiting[], startDeadlineSeconds: number): string | undefined {
  let earliest = Number.POSITIVE_INFINITY;
  for (const { replica } of waiting) {
    if (replica?.status?.stage !== 'Bound' && replica?.status?.stage !== 'Starting') continue;
    const bound = replica.status.transitions?.findLast(({ to }) => to === 'Bound');
    if (bound !== undefined)
      earliest = Math.min(earliest, Date.parse(bound.at) + startDeadlineSeconds * 1_000);
  }
  return Number.isFinite(earliest) ? new Date(earliest).toISOString().replace(/\.\d+Z$/, 'Z') : undefined;
}
