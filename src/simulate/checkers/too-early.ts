import { fenceContract } from '../../model/fence-contract.js';

/** A message if something happened before its duration was over. The clock of whoever counts may be fast by the drift ρ. */
export function tooEarly(what: string, lastedMs: number, neededMs: number): readonly string[] {
  const leastMs = neededMs * (1 - fenceContract.driftMax);
  return lastedMs >= leastMs
    ? []
    : [`${what} after ${Math.round(lastedMs)} ms, not ${Math.round(leastMs)}: too early`];
}
