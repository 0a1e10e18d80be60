import type { Charge } from './parts/charge.js';

// Priorities reach from -1e9 to 1e9: whatever is Guaranteed stands above whatever is Borrowed.
const guaranteedAbove = 2 ** 32;

/**
 * What a charge weighs where room is short: Guaranteed before Borrowed, then priority. A preemptor weighs strictly more
 * than each of its victims, so that no circle of preemptions exists.
 */
export const rankWeight = (rank: Charge['rank'], priority: number): number =>
  (rank === 'Guaranteed' ? guaranteedAbove : 0) + priority;
