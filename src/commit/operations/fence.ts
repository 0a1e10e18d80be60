import type { SetFence, SettleFence } from '../../model/ports.js';
import { fenceKey, type FenceRecord, type StoredFence } from '../../model/records.js';
import { fenceProblem } from '../../model/fence-problem.js';
import { checkActor, checkSender } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { storedFence } from '../stored.js';

/** The values themselves, without how they came to be. */
export const fenceOf = ({
  permitSeconds,
  graceSeconds,
  killMarginSeconds,
  windowSeconds,
  driftMax,
  stallSecondsMax,
}: FenceRecord): FenceRecord => ({
  ...{ permitSeconds, graceSeconds, killMarginSeconds, windowSeconds, driftMax, stallSecondsMax },
});

/**
 * Changes the fence of the cell. Renewals and releases read it in their own transactions, so that a larger W holds for
 * every release after this one. A smaller W has to wait: jobs run on under what was permitted before.
 */
export const setFence =
  (context: Context, input: SetFence): Decide<undefined> =>
  (draft) => {
    const foreign = checkSender(context, 'setFence', input.actor);
    if (foreign !== undefined) return foreign;
    const before = storedFence(draft);
    if (before.operation === input.operation) return already(undefined);
    const problem = fenceProblem(input.fence);
    if (problem !== undefined && context.checks.has('fence.sound')) return reject('FenceUnsound', problem);
    const wanted = fenceOf(input.fence);
    const isLowered = wanted.windowSeconds < before.windowSeconds && context.checks.has('fence.lowered');
    draft.put(fenceKey, {
      ...wanted,
      ...(isLowered && { windowSeconds: before.windowSeconds, windowSecondsNext: wanted.windowSeconds }),
      operation: input.operation,
    } satisfies StoredFence);
    return commit(undefined);
  };

/** W goes down once what was permitted under larger values cannot run any more. */
export const settleFence =
  (context: Context, input: SettleFence): Decide<undefined> =>
  (draft) => {
    const stale = checkActor(context, draft, 'settleFence', input.actor);
    if (stale !== undefined) return stale;
    const { windowSecondsNext, ...fence } = storedFence(draft);
    if (windowSecondsNext === undefined || fence.operation !== input.operation) return already(undefined);
    if (input.stoodSeconds < fence.windowSeconds && context.checks.has('fence.settled'))
      return reject(
        'FenceUnsound',
        `the window is lowered ${fence.windowSeconds} s after what is permitted was, not ${input.stoodSeconds} s`,
      );
    draft.put(fenceKey, {
      ...fence,
      windowSeconds: windowSecondsNext,
      operation: input.operation,
    } satisfies StoredFence);
    return commit(undefined);
  };
