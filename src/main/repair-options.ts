import { type BrakeRules, usualBrakes } from '../observe/brakes.js';
import { type RepairRates, usualRepairRates } from '../reconcile/repair/repair-budget.js';

/** What an operator may say of repair; what is left out is as usual. */
export interface RepairOptions {
  /** So many replicas of the cell are given away in a second at most. */
  readonly ratePerSecond?: number;
  /** From which share of silent nodes on repair slows down, and stops. */
  readonly slowShare?: number;
  readonly stopShare?: number;
  /** How long it stops at most, but for a cell in which nobody is heard of. */
  readonly holdMs?: number;
  /** How long a brake stays on after its share of silent nodes has fallen. */
  readonly lingerMs?: number;
}

export function repairRulesOf({ ratePerSecond, slowShare, stopShare, holdMs, lingerMs }: RepairOptions): {
  readonly brakeRules: BrakeRules;
  readonly repairRates: RepairRates;
} {
  return {
    brakeRules: {
      ...usualBrakes,
      ...(slowShare !== undefined && { slowShare }),
      ...(stopShare !== undefined && { stopShare }),
      ...(holdMs !== undefined && { holdMs }),
      ...(lingerMs !== undefined && { lingerMs }),
    },
    repairRates: {
      ...usualRepairRates,
      ...(ratePerSecond !== undefined && { cell: { perSecond: ratePerSecond, burst: ratePerSecond } }),
    },
  };
}
