import { repellingTaint, shownTaint } from '../../model/placement-rules.js';
import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those without a hard taint that the workload does not tolerate. */
export const taints: ShapeFilter = {
  level: 'shape',
  name: 'taints',
  reason: 'Tainted',
  rejects: ({ spec }, shape) => repellingTaint(shape.taints, spec.placement?.tolerations ?? []) !== undefined,
  says: ({ spec }, shape) => {
    const taint = repellingTaint(shape.taints, spec.placement?.tolerations ?? []);
    return `has the taint ${taint === undefined ? '' : shownTaint(taint)}`;
  },
};
