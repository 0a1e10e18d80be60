import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those that their operator has not closed to new work. */
export const schedulable: ShapeFilter = {
  level: 'shape',
  name: 'schedulable',
  reason: 'Tainted',
  rejects: (_, { isUnschedulable, isDraining, isDeleting }) => isUnschedulable || isDraining || isDeleting,
  says: (_, { isUnschedulable, isDeleting }) =>
    isUnschedulable ? 'is unschedulable' : isDeleting ? 'is being deleted' : 'is draining',
};
