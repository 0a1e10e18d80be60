import type { Replica } from '../../model/kinds/replica.js';
import type { Boundary } from '../../model/kinds/workload.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { waitingOf } from '../../model/waiting.js';

/** What a workload asks of each of its replicas whenever it is looked at. */
export interface ReplicaFacts {
  readonly stage: Stage;
  readonly hasEnded: boolean;
  /** Where a slot wants a replica and this is its only one, there is nothing to do. */
  readonly isCalm: boolean;
  readonly revision: string;
  /** What keeps it from taking traffic, or from its end; undefined if nothing does. */
  readonly waits: FactsOfWaiting | undefined;
}

export interface FactsOfWaiting {
  readonly boundary: Boundary | undefined;
  readonly reason: string;
  readonly nextMove: string;
  /** Of one that starts: when it was bound. */
  readonly boundAt: string | undefined;
  /** What people are told; undefined: what the replica itself says. */
  readonly message?: string;
}

/**
 * `alike` itself where that is the same: neighbours mostly are, so that thousands of replicas share few of these, and
 * whoever counts them need not look at each.
 */
export function factsOf(replica: Replica, alike?: ReplicaFacts): ReplicaFacts {
  const stage = replica.status?.stage ?? 'Queued';
  const hasEnded = isTerminal(stage);
  const isDeleted = replica.metadata.deletionTimestamp !== undefined;
  const isCalm = !hasEnded && !isDeleted && stage !== 'Unknown' && stage !== 'Admitted';
  const { revision } = replica.spec;
  const waits = waitsOf(replica, stage);
  const isAlike =
    alike?.stage === stage &&
    alike.isCalm === isCalm &&
    alike.revision === revision &&
    isSameWaiting(alike.waits, waits);
  return isAlike ? alike : { stage, hasEnded, isCalm, revision, waits };
}

function waitsOf(replica: Replica, stage: Stage): FactsOfWaiting | undefined {
  const waiting = waitingOf(replica, false);
  if (waiting === undefined) return undefined;
  const { boundary, reason, nextMove } = waiting;
  const isStarting = stage === 'Bound' || stage === 'Starting';
  const bound = isStarting ? replica.status?.transitions?.findLast(({ to }) => to === 'Bound') : undefined;
  return { boundary, reason, nextMove, boundAt: bound?.at };
}

const isSameWaiting = (one: FactsOfWaiting | undefined, other: FactsOfWaiting | undefined): boolean =>
  one === undefined || other === undefined
    ? one === other
    : one.boundary === other.boundary &&
      one.reason === other.reason &&
      one.nextMove === other.nextMove &&
      one.boundAt === other.boundAt;
