import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those in a region that the workload allows. */
export const region: ShapeFilter = {
  level: 'shape',
  name: 'region',
  reason: 'RegionNotAllowed',
  rejects: ({ spec }, shape) => {
    const allowed = spec.placement?.regions;
    return allowed !== undefined && allowed.length > 0 && !allowed.includes(shape.region);
  },
  says: ({ spec }, shape) =>
    `is in region ${shape.region}; allowed: ${spec.placement?.regions?.join(', ') ?? 'every one'}`,
};
