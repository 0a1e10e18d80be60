import type { Postpone } from '../../model/ports.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { findReplica, replicaGone } from '../replica-moves.js';
import { putStatus } from '../stored.js';

/** [L6] Says on a replica that waits why it was not placed. Written only when the reason changes (L8, L9). */
export const postpone =
  (context: Context, input: Postpone): Decide<undefined> =>
  (draft) => {
    const replica = findReplica(draft, input.replica);
    if (replica === undefined) return replicaGone(input.replica);
    const stale = checkActor(context, draft, 'postpone', input.actor);
    if (stale !== undefined) return stale;
    const { status } = replica;
    if (status.stage !== 'Queued')
      return reject('NoSuchEdge', `${replica.name} is ${status.stage}: it does not wait`);
    const before = status.conditions?.find(({ type }) => type === 'SchedulingRetrying');
    if (before?.status === 'True' && before.reason === input.reason) return already(undefined);
    const { decision: _, ...rest } = status;
    putStatus(draft, 'Replica', replica.tenant, replica.name, {
      ...rest,
      ...(input.decision !== undefined && { decision: input.decision }),
      conditions: [
        ...(status.conditions ?? []).filter(({ type }) => type !== 'SchedulingRetrying'),
        {
          type: 'SchedulingRetrying',
          status: 'True',
          reason: input.reason,
          message: input.message,
          lastTransitionTime: before?.lastTransitionTime ?? context.at,
        },
      ],
    });
    return commit(undefined);
  };
