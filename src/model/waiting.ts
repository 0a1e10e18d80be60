import type { Replica } from './kinds/replica.js';
import type { Boundary } from './kinds/workload.js';
import { rulesOfEdge, type Stage, stages } from './stages.js';

/** Where one replica waits, and for whom. Without a boundary: not on the way to where it should be, but not limited by one either. */
export interface Waiting {
  readonly boundary: Boundary | undefined;
  readonly reason: string;
  readonly nextMove: string;
  readonly replica: Replica | undefined;
}

/** The next stage on the way, from each stage that has one. */
const forward: Partial<Record<Stage, Stage>> = {
  Admitted: 'Queued',
  Queued: 'Bound',
  Scheduled: 'Bound',
  Bound: 'Starting',
  Starting: 'Ready',
  Ready: 'Serving',
  Releasing: 'Released',
};

/** Who may take the next step on the way, from each stage that has one. */
const moverFrom: ReadonlyMap<Stage, string | undefined> = new Map(
  stages.map((stage) => {
    const to = forward[stage];
    return [stage, to === undefined ? undefined : rulesOfEdge(stage, to)[0]?.owners[0]];
  }),
);

const quotaReasons: ReadonlySet<string> = new Set(['QuotaExceeded', 'GrantExhausted']);

/** The rejection that the scheduler met last; nothing was tried yet if there is none. */
function schedulingReason({ status }: Replica): { readonly reason: string; readonly message: string } {
  const condition = status?.conditions?.find(
    ({ type, status: is }) => type === 'SchedulingRetrying' && is === 'True',
  );
  return { reason: condition?.reason ?? 'NotTriedYet', message: condition?.message ?? '' };
}

/** It runs and its probe fails: it takes no traffic until its agent says otherwise. */
const isUnready = ({ status }: Replica): boolean =>
  status?.stage === 'Ready' && status.readiness?.isPassing === false;

function nextMoveOf(replica: Replica, stage: Stage): string {
  if (isUnready(replica)) return `agent:${replica.status?.binding?.node ?? ''}`;
  const owner = moverFrom.get(stage);
  if (stage === 'Unknown') return 'repair-controller';
  return owner === 'agent' ? `agent:${replica.status?.binding?.node ?? ''}` : (owner ?? '');
}

/** The boundary that a replica at a stage has not passed. */
function boundaryOf(replica: Replica, stage: Stage, reason: string): Boundary | undefined {
  switch (stage) {
    case 'Admitted':
      return 'Authority';
    case 'Queued':
      if (quotaReasons.has(reason)) return 'Quota';
      return reason === 'AwaitingAuthority' ? 'Authority' : 'Scheduling';
    case 'Scheduled':
      return 'Binding';
    case 'Bound':
      return 'NodeStart';
    case 'Starting':
      return replica.status?.driverId === undefined ? 'NodeStart' : 'Readiness';
    case 'Ready':
      return isUnready(replica) ? 'Readiness' : 'Traffic';
    case 'Serving':
    case 'Unknown':
    case 'Releasing':
    case 'Succeeded':
    case 'Failed':
    case 'Released':
      return undefined;
  }
}

/** What keeps a replica from where it should be; undefined if it is there. A batch that runs is; a service only when it takes traffic. */
export function waitingOf(replica: Replica, isBatch: boolean): Waiting | undefined {
  const stage = replica.status?.stage ?? 'Queued';
  if (stage === 'Serving' || stage === 'Succeeded' || (stage === 'Ready' && isBatch)) return undefined;
  // An ended one whose slot is still wanted: the next incarnation is on its way.
  if (stage === 'Failed' || stage === 'Released')
    return {
      boundary: 'Authority',
      reason: 'AwaitsNextIncarnation',
      nextMove: 'workload-controller',
      replica,
    };
  const reason =
    stage === 'Queued'
      ? schedulingReason(replica).reason
      : isUnready(replica)
        ? 'ReadinessLost'
        : (replica.status?.step ?? replica.status?.transitions?.at(-1)?.reason ?? stage);
  const boundary = boundaryOf(replica, stage, reason);
  return { boundary, reason, nextMove: nextMoveOf(replica, stage), replica };
}

/** What people are told of it. */
export const waitingMessage = (replica: Replica): string => {
  if (replica.status?.stage === 'Queued') return schedulingReason(replica).message;
  const { readiness, message = '' } = replica.status ?? {};
  return isUnready(replica) ? (readiness?.message ?? message) : message;
};
