import { ownValue } from '../../model/amount.js';
import type { NodeScore } from './score.js';

/** The fewer replicas of this workload have failed on the node, of those still remembered, the better. */
export const failures: NodeScore = {
  level: 'node',
  name: 'failures',
  applies: ({ around }) => Object.keys(around.failures).length > 0,
  score: ({ around, nodes }, row) => 1 / (1 + (ownValue(around.failures, nodes.names[row] as string) ?? 0)),
};
