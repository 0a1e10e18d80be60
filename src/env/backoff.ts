import type { Random } from './random.js';

/** How patiently something is tried again. */
export interface Backoff {
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
}

/** The pause before the next attempt: doubled with each failure up to the bound, and half of it left to chance. */
export function backoffMs(policy: Backoff, failures: number, random: Random): number {
  const wholeMs = Math.min(policy.backoffMsMax, policy.backoffMsMin * 2 ** Math.min(failures, 30));
  return wholeMs / 2 + random.float() * (wholeMs / 2);
}
