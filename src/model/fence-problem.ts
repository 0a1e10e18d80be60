import { fenceContract } from './fence-contract.js';
import type { Records } from './ports.js';
import { fenceKey, type FenceRecord, type StoredFence } from './records.js';

/** The fence of the cell as its records show it. */
export const fenceIn = (
  records: Pick<Records, 'read'>,
): FenceRecord & Partial<Pick<StoredFence, 'windowSecondsNext' | 'operation'>> =>
  (records.read(fenceKey) as StoredFence | undefined) ?? fenceContract;

/**
 * Why these values would not make an expired fence a proof (DESIGN §8); undefined if they do. W is counted on a clock
 * that may be slow while the job's is fast, and the kill may stall: `W·(1−ρ) ≥ D·(1+ρ)+σ`.
 */
export function fenceProblem(fence: FenceRecord): string | undefined {
  const { permitSeconds, graceSeconds, killMarginSeconds, windowSeconds, driftMax } = fence;
  for (const [name, value] of Object.entries(fence))
    if (!Number.isFinite(value) || value < 0) return `${name} must be a number that is not negative`;
  if (driftMax >= 1) return `driftMax is a share: it must be below 1, not ${driftMax}`;
  if (killMarginSeconds <= 0 || killMarginSeconds >= graceSeconds)
    return `a job is asked to stop before it is killed: killMarginSeconds (${killMarginSeconds}) must be above 0 and below graceSeconds (${graceSeconds})`;
  if (graceSeconds >= permitSeconds)
    return `nothing could ever start: graceSeconds (${graceSeconds}) must be below permitSeconds (${permitSeconds})`;
  const least = leastWindowSeconds(fence);
  return windowSeconds < least
    ? `a job permitted for ${permitSeconds} s may still run when the window ends: windowSeconds must be at least ${Math.ceil(least * 10) / 10}, not ${windowSeconds}`
    : undefined;
}

/** The least W under which an expired fence is a proof. */
export const leastWindowSeconds = ({
  permitSeconds,
  driftMax,
  stallSecondsMax,
}: Pick<FenceRecord, 'permitSeconds' | 'driftMax' | 'stallSecondsMax'>): number =>
  (permitSeconds * (1 + driftMax) + stallSecondsMax) / (1 - driftMax);
