import type { ShapeFilter } from './filter.js';

/** Takes nodes; passes those that are not set apart for other tenants. */
export const tenancy: ShapeFilter = {
  level: 'shape',
  name: 'tenancy',
  reason: 'TenancyNotAllowed',
  rejects: ({ tenant }, { tenants }) => tenants.length > 0 && !tenants.includes(tenant),
  says: ({ tenant }, { tenants }) => `is for ${tenants.join(', ')}, not for ${tenant}`,
};
