import type { Replica } from '../../model/kinds/replica.js';
import { boundaries, type Boundary, type WorkloadStatus } from '../../model/kinds/workload.js';
import type { Stage } from '../../model/stages.js';
import { waitingMessage } from '../../model/waiting.js';
import type { ReplicaFacts } from './replica-facts.js';

export type Progress = NonNullable<WorkloadStatus['progress']>;

export interface ProgressOptions {
  /** A batch that runs is where it should be; a service only when it takes traffic. */
  readonly isBatch: boolean;
  readonly startDeadlineSeconds: number;
}

/** Those that wait at one boundary for one reason. */
interface WaitingGroup {
  count: number;
  /** The one whose slot is served first, and its place among them. */
  first: Replica | undefined;
  firstAt: number;
  /** Of the first, where it is not what its replica says. */
  message: string | undefined;
  readonly nextMoves: Map<string, number>;
}

interface AtBoundary {
  count: number;
  readonly reasons: Map<string, WaitingGroup>;
  /** When the first of them was bound, of those that start. */
  boundAt: string | undefined;
}

/**
 * [L6] What limits a workload now. The boundary at which most of what is missing waits, an earlier one where two
 * are equal: what waits there holds up the rest. Without a boundary, what else is not as it should be is told.
 *
 * Added up a few replicas at a time, so that a workload of many can be gone through in parts.
 */
export class ProgressTally {
  readonly #stages: Record<string, number> = {};
  readonly #boundaries = new Map<Boundary | undefined, AtBoundary>();

  constructor(private readonly options: ProgressOptions) {}

  /** So many that exist at a stage, ended or not. */
  exist(stage: Stage, count: number): void {
    this.#stages[stage] = (this.#stages[stage] ?? 0) + count;
  }

  /**
   * So many that are the newest of their slots, which are wanted, and of which these are the facts: what has to come
   * forward. With the first of them, and its place in the order in which slots are served.
   */
  areWanted({ stage, waits }: ReplicaFacts, count: number, first: Replica, firstAt: number): void {
    if (waits === undefined || (this.options.isBatch && stage === 'Ready')) return;
    const { boundary, reason, nextMove, boundAt, message } = waits;
    const there = this.#at(boundary);
    const group = groupAt(there, reason);
    there.count += count;
    group.count += count;
    if (group.first === undefined || firstAt < group.firstAt) {
      group.first = first;
      group.firstAt = firstAt;
      group.message = message;
    }
    group.nextMoves.set(nextMove, (group.nextMoves.get(nextMove) ?? 0) + count);
    // Timestamps of one form: the earlier one is the smaller text.
    if (boundAt !== undefined && (there.boundAt === undefined || boundAt < there.boundAt))
      there.boundAt = boundAt;
  }

  /** So many slots that have no replica yet, and why. */
  areMissing(reason: string, count: number): void {
    const there = this.#at('Authority');
    there.count += count;
    groupAt(there, reason).count += count;
  }

  result(previous: Progress | undefined, now: string): Progress {
    const stages = this.#stages;
    const countAt = (boundary: Boundary): number => this.#boundaries.get(boundary)?.count ?? 0;
    const most = Math.max(...boundaries.map(countAt));
    const limitedBy = boundaries.find((boundary) => most > 0 && countAt(boundary) === most);
    const there = this.#boundaries.get(limitedBy);
    const reason = there && mostOf(there.reasons, ({ count }) => count);
    if (there === undefined || reason === undefined) return { stages };
    const { first, nextMoves, message: said } = groupAt(there, reason);
    const message = said ?? (first === undefined ? '' : waitingMessage(first));
    const operation = first?.status?.transitions?.at(-1)?.operation;
    const deadline = deadlineAfter(there.boundAt, this.options.startDeadlineSeconds);
    return {
      stages,
      ...(limitedBy !== undefined && {
        limitedBy,
        since: previous?.limitedBy === limitedBy && previous.since !== undefined ? previous.since : now,
      }),
      reason,
      ...(message !== '' && { message }),
      ...(operation !== undefined && { operation }),
      nextMove: mostOf(nextMoves, (count) => count) ?? 'workload-controller',
      ...(deadline !== undefined && { deadline }),
    };
  }

  #at(boundary: Boundary | undefined): AtBoundary {
    let there = this.#boundaries.get(boundary);
    if (there === undefined) {
      there = { count: 0, reasons: new Map(), boundAt: undefined };
      this.#boundaries.set(boundary, there);
    }
    return there;
  }
}

function groupAt({ reasons }: AtBoundary, reason: string): WaitingGroup {
  let group = reasons.get(reason);
  if (group === undefined) {
    group = { count: 0, first: undefined, firstAt: 0, message: undefined, nextMoves: new Map() };
    reasons.set(reason, group);
  }
  return group;
}

/** The text with the highest count; the first in the alphabet where two have it. */
function mostOf<T>(texts: ReadonlyMap<string, T>, countOf: (value: T) => number): string | undefined {
  let top: { readonly text: string; readonly count: number } | undefined;
  for (const [text, value] of texts) {
    const count = countOf(value);
    if (top === undefined || count > top.count || (count === top.count && text < top.text))
      top = { text, count };
  }
  return top?.text;
}

/** When the first of those that start has to be ready, for people to read. */
function deadlineAfter(boundAt: string | undefined, seconds: number): string | undefined {
  if (boundAt === undefined) return undefined;
  return new Date(Date.parse(boundAt) + seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
}
