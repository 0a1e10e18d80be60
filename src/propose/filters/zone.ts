import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those in a zone that the workload allows. */
export const zone: ShapeFilter = {
  level: 'shape',
  name: 'zone',
  reason: 'ZoneNotAllowed',
  rejects: ({ spec }, shape) => {
    const allowed = spec.placement?.zones;
    return allowed !== undefined && allowed.length > 0 && !allowed.includes(shape.zone);
  },
  says: ({ spec }, shape) =>
    `is in zone ${shape.zone}; allowed: ${spec.placement?.zones?.join(', ') ?? 'every one'}`,
};
