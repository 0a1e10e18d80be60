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
    // That a node is in use counts for as much as the best balance can: no other is opened for the sake of that.
    fit: 9,
    balance: 8,
    // Above fit: no node with devices is filled up by others because it is in use already.
    spareDevices: 12,
    // What somebody asked for by name counts for more than what is good in general.
    spread: 32,
    affinity: 32,
    locality: 32,
    failures: 32,
    preferNoSchedule: 32,
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
