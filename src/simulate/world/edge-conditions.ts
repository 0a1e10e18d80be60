import type { Random } from '../../env/random.js';
import { fenceContract } from '../../model/fence-contract.js';

/** What a fence has to bear in one run: anything that §8 allows. */
export interface EdgeConditions {
  /** How fast the machine's clocks run, and those of whoever waits for its lease. */
  readonly nodeRate: number;
  readonly leaderRate: number;
  /** From the order to kill to the end: the margin that the supervisor leaves, and a stall. */
  readonly killMs: number;
  /** A renewal is committed when it arrives, and acknowledged so much later. */
  readonly acknowledgedAfterMs: number;
  /** The agent is gone soon after the node was cut off: only the supervisor is left to end the job. */
  readonly isAgentGone: boolean;
  /** How much of the last permit was left when the job was told to start; undefined: it ran long before the cut. */
  readonly toldBeforeEndMs: number | undefined;
  /** How long the machine is suspended after the cut. */
  readonly suspendedMs: number;
}

const { driftMax, killMarginSeconds, stallSecondsMax, graceSeconds } = fenceContract;
const killMsMax = (killMarginSeconds + stallSecondsMax) * 1_000;
const acknowledgedAfterMsMax = 3_000;
// Awake again before the permit has ended: a machine that sleeps longer is outside the contract.
const suspendedMsMax = 100_000;

/** The worst of it at once, for a job that runs when its node is cut off. */
export const worstEdge: EdgeConditions = {
  ...{ nodeRate: 1 - driftMax, leaderRate: 1 + driftMax },
  ...{ killMs: killMsMax, acknowledgedAfterMs: acknowledgedAfterMsMax, isAgentGone: true },
  ...{ toldBeforeEndMs: undefined, suspendedMs: 0 },
};

/** Each condition is at its worst in every other seed, and anywhere in between in the rest. */
export function edgeConditions(random: Random): EdgeConditions {
  const within = (worst: number, best: number): number =>
    random.chance(0.5) ? worst : best + (worst - best) * random.float();
  const isLate = random.chance(0.5);
  const isSuspended = !isLate && random.chance(0.5);
  return {
    nodeRate: within(1 - driftMax, 1 + driftMax),
    leaderRate: within(1 + driftMax, 1 - driftMax),
    killMs: within(killMsMax, 1),
    acknowledgedAfterMs: within(acknowledgedAfterMsMax, 1),
    isAgentGone: !isLate && random.chance(0.7),
    toldBeforeEndMs: isLate ? within(500, graceSeconds * 1_000) : undefined,
    suspendedMs: isSuspended ? within(suspendedMsMax, 1_000) : 0,
  };
}
