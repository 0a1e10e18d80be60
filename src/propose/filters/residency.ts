import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those under a law that the tenant's operator allows for its work. */
export const residency: ShapeFilter = {
  level: 'shape',
  name: 'residency',
  reason: 'ResidencyNotAllowed',
  rejects: (cls, shape) => !cls.isResident(shape.region),
  says: (cls, shape) =>
    `is in region ${shape.region}, under ${cls.jurisdictionOf(shape.region) ?? 'no known law'}; tenant ${cls.tenant} must stay in ${cls.residency.join(', ')}`,
};
