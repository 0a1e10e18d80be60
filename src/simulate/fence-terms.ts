import { fenceContract } from '../model/fence-contract.js';
import { leastWindowSeconds } from '../model/fence-problem.js';
import type { FenceRecord } from '../model/records.js';

/** What the fence is made of (DESIGN §8). Data, so that a world can be made in which one term of it is missing. */
export interface FenceTerms {
  /** What agents and supervisors are told. */
  readonly told: FenceRecord;
  /** For how long the control plane sees a lease stand unchanged before it gives away what runs there. */
  readonly windowSeconds: number;
  readonly permitCountsFrom: 'sent' | 'acknowledged';
  readonly windowCountsFrom: 'lastRenewal' | 'earlierRenewal';
  readonly deadlinesOn: 'bootTime' | 'monotonicTime';
  readonly atTheDeadline: 'killed' | 'leftAlone';
  /** By how much the parts of a permit are longer than they were told to be. */
  readonly longerSeconds: { readonly killAt: number; readonly overAt: number };
}

// The smallest that the inequality allows: what is missing from it cannot hide in what a cell waits beyond that.
const windowSeconds = leastWindowSeconds(fenceContract);
const rightLength = { killAt: 0, overAt: 0 };
const { permitSeconds, killMarginSeconds } = fenceContract;
const longer = (seconds: number): number => seconds / 10;
const told: FenceRecord = { ...fenceContract, windowSeconds };

/** The fence as it is. */
export const wholeFence: FenceTerms = {
  ...{ told, windowSeconds, permitCountsFrom: 'sent', windowCountsFrom: 'lastRenewal' },
  ...{ deadlinesOn: 'bootTime', atTheDeadline: 'killed', longerSeconds: rightLength },
};

export const fenceTermNames = [
  'fence.grace',
  'fence.margin',
  'fence.kill',
  'fence.drift',
  'fence.stall',
  'fence.sent',
  'fence.lastRenewal',
  'fence.bootTime',
  'fence.permitLong',
  'fence.killLong',
] as const;
export type FenceTermName = (typeof fenceTermNames)[number];

/** The fence without each of its terms, and with a permit of which a part is a tenth longer. */
export const fenceWithout: Readonly<Record<FenceTermName, FenceTerms>> = {
  'fence.grace': { ...wholeFence, told: { ...told, graceSeconds: 0 } },
  'fence.margin': { ...wholeFence, told: { ...told, killMarginSeconds: 0 } },
  'fence.kill': { ...wholeFence, atTheDeadline: 'leftAlone' },
  'fence.drift': { ...wholeFence, windowSeconds: leastWindowSeconds({ ...fenceContract, driftMax: 0 }) },
  'fence.stall': {
    ...wholeFence,
    windowSeconds: leastWindowSeconds({ ...fenceContract, stallSecondsMax: 0 }),
  },
  'fence.sent': { ...wholeFence, permitCountsFrom: 'acknowledged' },
  'fence.lastRenewal': { ...wholeFence, windowCountsFrom: 'earlierRenewal' },
  'fence.bootTime': { ...wholeFence, deadlinesOn: 'monotonicTime' },
  'fence.permitLong': {
    ...wholeFence,
    longerSeconds: {
      killAt: longer(permitSeconds),
      overAt: longer(permitSeconds),
    },
  },
  'fence.killLong': {
    ...wholeFence,
    longerSeconds: { ...rightLength, killAt: longer(permitSeconds - killMarginSeconds) },
  },
};
