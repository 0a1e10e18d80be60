import type { Random } from './random.js';

/** How long to wait before trying again: longer each time, up to a bound. */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

// 2^30 times any first delay is past every bound.
const doublingsMax = 30;

/**
 * The wait after so many failures in a row, the first being 1. Half of it is certain, half is by chance: who failed
 * together does not come back together.
 */
export function backoffAfter({ firstMs, mostMs }: Backoff, failures: number, random: Random): number {
  const fullMs = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, doublingsMax));
  return fullMs / 2 + (fullMs / 2) * random.float();
}
