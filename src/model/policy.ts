import { createHash } from 'node:crypto';

/** How nodes that would do are compared. The weights of what does not apply to a class are left out of its scores. */
export interface Policy {
  /** Pack: rather on nodes that are full already, so that others stay free. Spread: rather on those with most left. */
  readonly strategy: 'Pack' | 'Spread';
  /** By the name of the score. Whole numbers: sums of scores are then exact, in whatever order. */
  readonly weights: Readonly<Record<ScoreName, number>>;
}

export const scoreNames = [
  'fit',
  'balance',
  'spareDevices',
  'spread',
  'affinity',
  'locality',
  'failures',
  'preferNoSchedule',
] as const;
export type ScoreName = (typeof scoreNames)[number];

/** Until policies are objects, there is this one. */
export const builtinPolicy: Policy = {
  strategy: 'Pack',
  weights: {
    fit: 8,
    balance: 2,
    spareDevices: 4,
    // What somebody asked for by name counts for more than what is good in general.
    spread: 16,
    affinity: 16,
    locality: 16,
    failures: 16,
    preferNoSchedule: 16,
  },
};

const revisions = new WeakMap<Policy, string>();

/** The revision of a policy that nobody wrote: it changes exactly when the policy does. */
export function policyRevision(policy: Policy): string {
  let revision = revisions.get(policy);
  if (revision === undefined) {
    revision = `builtin-${createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 10)}`;
    revisions.set(policy, revision);
  }
  return revision;
}
