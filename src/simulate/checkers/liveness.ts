import { goesQuiet, withinBudget } from './bounded-writes.js';
import type { LivenessRule } from './checker.js';
import { deadlinesTakeEffect } from './deadlines.js';
import { fitsSomewhere, guaranteesKept } from './fits-somewhere.js';
import type { LivenessCheck } from './liveness-facts.js';
import { nothingHalfDone, nothingOrphaned } from './no-leftovers.js';
import { nothingDropped } from './nothing-dropped.js';
import { returnedNodesTakeWork } from './returned-nodes.js';
import { waitingExplained } from './waiting-explained.js';

/** What is judged on the end state, after faults have stopped and the cell had its time to settle. */
export const livenessChecks: Readonly<Record<LivenessRule, LivenessCheck>> = {
  L1: fitsSomewhere,
  L2: nothingDropped,
  L3: returnedNodesTakeWork,
  L4: nothingHalfDone,
  L5: deadlinesTakeEffect,
  L6: waitingExplained,
  L7: nothingOrphaned,
  L8: withinBudget,
  L9: goesQuiet,
  L10: guaranteesKept,
};
