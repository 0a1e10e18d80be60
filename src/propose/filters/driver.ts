import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those whose agent can run what the workload is. An agent that names no driver may have any. */
export const driver: ShapeFilter = {
  level: 'shape',
  name: 'driver',
  reason: 'DriverMissing',
  rejects: (cls, { drivers }) =>
    drivers.length > 0 && !drivers.includes(cls.driver) && !drivers.includes('hollow'),
  says: (cls, { drivers }) => `runs ${drivers.join(', ')}, not ${cls.driver}`,
};
