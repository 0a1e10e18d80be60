import type { ShapeFilter } from './filter.js';

/** [S9] Takes nodes; passes those that are not kept for recovery, and all for a class that may use such pools. */
export const recoveryPool: ShapeFilter = {
  level: 'shape',
  name: 'recovery-pool',
  reason: 'PoolReserved',
  rejects: ({ mayUsePools }, shape) => shape.isRecoveryPool && !mayUsePools,
  says: ({ spec }) => `is kept for recovery; class ${spec.priorityClassName ?? 'default'} may not use it`,
};
