import { backoffAfter } from '../../env/backoff.js';
import type { Random } from '../../env/random.js';
import type { NodeBinding } from '../../model/node-stream.js';
import type { JobEnd } from '../driver.js';

/** How often a job is started again on its node. */
export interface RestartRules {
  readonly type: NodeBinding['type'];
  readonly budget: number;
  readonly windowMs: number;
}

export type AfterEnd =
  | { readonly kind: 'Exit'; readonly end: JobEnd }
  | {
      readonly kind: 'Restart';
      readonly afterMs: number;
      /** When restarts were decided on, within the window. Never more than the budget. */
      readonly restartsMs: readonly number[];
      readonly message: string;
    };

const backoff = { firstMs: 500, mostMs: 60_000 };

// What another try on the same node would not change, and what was not permitted to go on.
const finalReasons: ReadonlySet<JobEnd['reason']> = new Set(['CommandNotFound', 'ImageNotFound', 'Fenced']);

/**
 * What follows when an execution is over that nobody asked to stop (DESIGN §7). A Batch replica that failed is never
 * started again on its node: each of its failures is one that `backoffLimit` counts. Others are, with pauses that grow,
 * until the budget of restarts within the window is spent.
 */
export function afterEnd(
  end: JobEnd,
  rules: RestartRules,
  restartsMs: readonly number[],
  nowMs: number,
  random: Random,
): AfterEnd {
  if (rules.type === 'Batch' && end.reason === 'Exited' && end.exitCode === 0)
    return { kind: 'Exit', end: { ...end, reason: 'Completed' } };
  // It ended with its agent, and has not failed: that is counted neither here nor by its workload.
  if (end.reason === 'Stopped')
    return { kind: 'Restart', afterMs: backoffAfter(backoff, 1, random), restartsMs, message: endText(end) };
  if (rules.type === 'Batch' || finalReasons.has(end.reason) || rules.budget === 0)
    return { kind: 'Exit', end };
  const recent = restartsMs.filter((atMs) => nowMs - atMs < rules.windowMs);
  const said = endText(end);
  if (recent.length >= rules.budget)
    return {
      kind: 'Exit',
      end: {
        ...end,
        reason: 'RestartBudgetSpent',
        message: `${said}; it was restarted ${recent.length} times within ${rules.windowMs / 1_000} s, which is all it may be`,
      },
    };
  const afterMs = backoffAfter(backoff, recent.length + 1, random);
  return {
    kind: 'Restart',
    afterMs,
    restartsMs: [...recent, nowMs],
    message: `${said}; restart ${recent.length + 1} of ${rules.budget}`,
  };
}

/** How an execution ended, in a few words. */
export function endText({ reason, exitCode, message }: JobEnd): string {
  const how = reason === 'Exited' && exitCode !== undefined ? `exited with ${exitCode}` : reason;
  return message === undefined || message === '' ? how : `${how}: ${message}`;
}
