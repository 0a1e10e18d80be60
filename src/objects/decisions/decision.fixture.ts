import type { NewDecision } from '../../model/decisions.js';
import type { DecisionSpec } from '../../model/kinds/decision.js';

/** A decision of a workload that chose these nodes for its replicas, in order. */
export const decided = (
  name: string,
  workload: string,
  nodes: readonly string[] = [],
  more: Partial<DecisionSpec> = {},
  tenant = 'fraud',
): NewDecision => ({
  name,
  tenant,
  spec: {
    workload,
    revision: `${workload}-r1`,
    generation: 1,
    at: '2026-01-31T13:05:00Z',
    snapshot: { revision: '41', ageMs: 3, nodes: 12 },
    policyRevision: 'builtin-1',
    result: nodes.length > 0 ? 'Placed' : 'NotPlaced',
    choices: nodes.map((node, slot) => ({
      replica: `${workload}-${slot}-1`,
      uid: `uid-${slot}`,
      operation: `place/${slot}`,
      node,
      outcome: 'Committed',
    })),
    ...more,
  },
});
