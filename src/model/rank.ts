import { type Amount, firstOver, subtractAmounts } from './amount.js';
import type { Charge } from './parts/charge.js';
import type { TenantAccount } from './records.js';

// Priorities reach from -1e9 to 1e9: whatever is Guaranteed stands above whatever is Borrowed.
const guaranteedAbove = 2 ** 32;

/**
 * What a charge weighs where room is short: Guaranteed before Borrowed, then priority. A preemptor weighs strictly more
 * than each of its victims, so that no circle of preemptions exists.
 */
export const rankWeight = (rank: Charge['rank'], priority: number): number =>
  (rank === 'Guaranteed' ? guaranteedAbove : 0) + priority;

/** Guaranteed if all of it is within the guarantee, beside what is charged as Guaranteed already. */
export const rankOfCharge = (
  { used, borrowed }: Pick<TenantAccount, 'used' | 'borrowed'>,
  guaranteed: Amount,
  more: Amount,
): Charge['rank'] =>
  firstOver(subtractAmounts(used, borrowed), more, guaranteed, 'isNone') === undefined
    ? 'Guaranteed'
    : 'Borrowed';
