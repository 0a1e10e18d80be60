import { isTolerated } from '../../model/placement-rules.js';
import type { ShapeScore } from './score.js';

/** The fewer soft taints the node has that the workload does not tolerate, the better. */
export const preferNoSchedule: ShapeScore = {
  level: 'shape',
  name: 'preferNoSchedule',
  applies: () => true,
  score: ({ spec }, { taints }) => {
    const tolerations = spec.placement?.tolerations ?? [];
    const soft = taints.filter(
      (taint) => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations),
    );
    return 1 / (1 + soft.length);
  },
};
