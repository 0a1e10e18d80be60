import type { NodeShape } from '../node-table.js';
import type { SchedulingClass } from '../scheduling-class.js';
import type { ShapeFilter } from './filter.js';

/**
 * Takes nodes; passes those whose agent can run what the workload is, for its tenant. An agent that names no driver may have
 * any, and one that names no tenants runs the processes of all.
 */
export const driver: ShapeFilter = {
  level: 'shape',
  name: 'driver',
  reason: 'DriverMissing',
  rejects: (cls, shape) => lacksDriver(cls, shape) || isForOthers(cls, shape),
  says: (cls, shape) =>
    lacksDriver(cls, shape)
      ? `runs ${shape.drivers.join(', ')}, not ${cls.driver}`
      : `runs processes of tenant ${shape.processTenants?.join(', ')} only, because tenants would share a user there; ${cls.tenant} may use containers, or its operator passes --allow-shared-user`,
};

const lacksDriver = (cls: SchedulingClass, { drivers }: NodeShape): boolean =>
  drivers.length > 0 && !drivers.includes(cls.driver) && !drivers.includes('hollow');

const isForOthers = (cls: SchedulingClass, { processTenants }: NodeShape): boolean =>
  cls.driver === 'process' && processTenants?.includes(cls.tenant) === false;
