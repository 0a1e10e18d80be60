import { expect, it } from 'vitest';
import { usualBrakes } from '../observe/brakes.js';
import { usualRepairRates } from '../reconcile/repair/repair-budget.js';
import { repairRulesOf } from './repair-options.js';

it('what an operator says of repair takes the place of what is usual, and nothing else does', () => {
  expect(repairRulesOf({})).toEqual({ brakeRules: usualBrakes, repairRates: usualRepairRates });
  expect(
    repairRulesOf({ ratePerSecond: 5, slowShare: 0.1, stopShare: 0.2, holdMs: 1_000, lingerMs: 2_000 }),
  ).toEqual({
    brakeRules: { ...usualBrakes, slowShare: 0.1, stopShare: 0.2, holdMs: 1_000, lingerMs: 2_000 },
    repairRates: { ...usualRepairRates, cell: { perSecond: 5, burst: 5 } },
  });
});
