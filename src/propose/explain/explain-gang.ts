import type { PlacementFacts } from '../../model/explanation.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { type ObjectSide, refusalOf, shownRefusal, shownRoom } from './explain-replica.js';

export interface GangFacts {
  readonly gang: Gang;
  readonly members: readonly Replica[];
  /** Of the members that wait, together; absent if none does. */
  readonly placement: PlacementFacts | undefined;
}

/** Whether a gang has started, and if not how many of its members hold what they need. */
export function explainGang({ gang, members, placement }: GangFacts): ObjectSide {
  const stages: Partial<Record<Stage, number>> = {};
  for (const { status } of members) {
    const stage = status?.stage ?? 'Queued';
    stages[stage] = (stages[stage] ?? 0) + 1;
  }
  const { metadata, spec, status } = gang;
  const current = status?.state ?? 'Waiting';
  const held = `${status?.holds ?? 0} of ${spec.minAvailable} hold capacity`;
  const room = current === 'Waiting' ? placement?.room : undefined;
  const cannot = current !== 'Committed' && placement?.isPlaceable === false && room === undefined;
  const state = cannot ? 'CannotBePlaced' : current === 'Committed' ? 'AsWanted' : 'OnItsWay';
  const live = members.filter((member) => !isTerminal(member.status?.stage ?? 'Queued')).length;
  const reason = cannot
    ? refusalOf(placement)?.reason
    : current === 'Committed'
      ? undefined
      : 'GangIncomplete';
  return {
    state,
    stages,
    ...(state !== 'AsWanted' && {
      limitedBy: cannot && placement.quota !== undefined ? 'Quota' : 'Scheduling',
      nextMove: 'scheduler',
    }),
    ...(reason !== undefined && { reason }),
    ...(status?.retryAt !== undefined && { deadline: status.retryAt }),
    ...(status?.operation !== undefined && { operation: status.operation }),
    ...(placement !== undefined && { placement }),
    notes: [
      `${live} members of workload ${spec.workload} have not ended`,
      ...(status?.attempts === undefined ? [] : [`it has tried ${status.attempts} times`]),
    ],
    answer: `gang ${metadata.namespace}/${metadata.name} ${
      cannot && placement !== undefined
        ? `cannot start: ${shownRefusal(placement, placement.replica)}; ${held}`
        : current === 'Committed'
          ? 'has started together'
          : `is ${current} and has not started: ${held}${room === undefined ? '' : `; ${shownRoom(room, 'its members')}`}`
    }`,
  };
}
