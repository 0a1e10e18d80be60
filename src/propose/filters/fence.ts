import type { ShapeFilter } from './filter.js';

/** [S5] Takes nodes; passes those that keep a fence, and all for work that does not rely on one. */
export const fence: ShapeFilter = {
  level: 'shape',
  name: 'fence',
  reason: 'FenceUnsupported',
  rejects: ({ needsFence }, { canFence }) => needsFence && !canFence,
  says: ({ spec }) => `cannot keep the fence that ${spec.workload} relies on`,
};
