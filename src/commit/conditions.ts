import type { ReplicaStatus } from '../model/kinds/replica.js';

export type Conditions = NonNullable<ReplicaStatus['conditions']>;

interface Said {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * Conditions with some that are so from now on and some that are over; undefined if that is how they are. A message
 * alone is no news: it may carry numbers that change all the time.
 */
export function withConditions(
  before: Conditions,
  set: readonly Said[],
  clear: readonly string[],
  at: string,
): Conditions | undefined {
  const news = set.filter(
    ({ type, reason }) =>
      !before.some((one) => one.type === type && one.status === 'True' && one.reason === reason),
  );
  const isOver = (type: string): boolean => clear.includes(type);
  if (news.length === 0 && !before.some(({ type }) => isOver(type))) return undefined;
  const isNew = (type: string): boolean => news.some((one) => one.type === type);
  return [
    ...before.filter(({ type }) => !isOver(type) && !isNew(type)),
    ...news.map(({ type, reason, message }) => ({
      ...{ type, status: 'True' as const, reason, message },
      lastTransitionTime: before.find((one) => one.type === type)?.lastTransitionTime ?? at,
    })),
  ];
}
