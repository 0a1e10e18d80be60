import type { Random } from '../../env/random.js';

/** Least and most, in seconds: drawn evenly for each job. */
export type SecondsRange = readonly [least: number, most: number];

/** How a hollow node behaves. */
export interface HollowProfile {
  /** From being told to running: pulling, unpacking. */
  readonly startSeconds: SecondsRange;
  /** From running to ready. */
  readonly readySeconds: SecondsRange;
  /** How long a Batch replica runs until it succeeds. */
  readonly runSeconds: SecondsRange;
  /** From being asked to stop to having stopped; never longer than its grace. */
  readonly stopSeconds: SecondsRange;
  /** How late what the node says arrives. */
  readonly lagSeconds: SecondsRange;
  /** The chance that a start fails. */
  readonly startFailure: number;
  /** How often in an hour, on average, a replica that runs fails by itself. */
  readonly failuresPerHour: number;
}

export const usualProfile: HollowProfile = {
  startSeconds: [0.1, 0.5],
  readySeconds: [0.1, 0.5],
  runSeconds: [5, 15],
  stopSeconds: [0, 0.2],
  lagSeconds: [0, 0],
  startFailure: 0,
  failuresPerHour: 0,
};

/** A time of that range, in milliseconds. */
export const drawnMs = ([least, most]: SecondsRange, random: Random): number =>
  (least + (most - least) * random.float()) * 1_000;

/** How long until the next failure: undefined if there is none. Failures come independently of one another. */
export function untilFailureMs({ failuresPerHour }: HollowProfile, random: Random): number | undefined {
  if (failuresPerHour === 0) return undefined;
  return (-Math.log(1 - random.float()) * 3_600_000) / failuresPerHour;
}
