import type { Move } from '../../model/ports.js';
import type { Stage, StageActor } from '../../model/stages.js';
import { checkActor, checkEdge } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { slotRecord } from '../stored.js';
import { endDisruption } from './disrupt.js';
import { findReplica, movedBefore, moveReplica, stepBy, replicaGone } from '../replica-moves.js';

/** The edges that have no operation of their own; all others are refused here, whoever owns them. */
const movedHere: readonly (readonly [actor: StageActor, to: Stage])[] = [
  ['workload-controller', 'Queued'],
  ['endpoints-controller', 'Serving'],
  ['endpoints-controller', 'Ready'],
  ['repair-controller', 'Unknown'],
];

export const move =
  (context: Context, input: Move): Decide<{ readonly stage: Stage }> =>
  (draft) => {
    const replica = findReplica(draft, input.replica);
    if (replica === undefined) return replicaGone(input.replica);
    const { stage } = replica.status;
    const moved = movedBefore(context, replica.status, input.operation);
    if (moved !== undefined) return already({ stage: moved });
    const stale = checkActor(context, draft, 'move', input.actor);
    if (stale !== undefined) return stale;
    if (stage !== input.from && context.checks.has('stage.from'))
      return reject('NoSuchEdge', `${replica.name} is ${stage}, not ${input.from}`);
    const actor = input.actor.kind as StageActor;
    const edge = checkEdge(context, actor, stage, input.to);
    if (edge !== undefined) return edge;
    if (
      !movedHere.some(([kind, to]) => kind === actor && to === input.to) &&
      context.checks.has('owner.edge')
    )
      return reject('NotOwner', `${actor} moves nothing to ${input.to} without the operation for it`);
    const by = stepBy(input.actor);
    moveReplica(
      context,
      draft,
      replica,
      {
        ...by,
        to: input.to,
        reason: input.reason,
        operation: input.operation,
        evidence: { ...by.evidence, ...input.evidence },
      },
      input.message === undefined ? {} : { message: input.message },
    );
    // Ready alone would be too early: with minReadySeconds nobody is sent to it yet.
    if (input.to === 'Serving') {
      const { tenant, stored } = replica;
      const { workload, slot } = stored.spec;
      if (slotRecord(draft, tenant, workload, slot)?.replicaUid === stored.metadata.uid)
        endDisruption(draft, stored.spec, tenant);
    }
    return commit({ stage: input.to });
  };
