import { isDeepStrictEqual } from 'node:util';
import { amountOf, amountsOf } from '../../model/amount.js';
import type { Tenant } from '../../model/kinds/tenant.js';
import type { TenantLedger } from '../../model/kinds/tenant-ledger.js';

const unlimited = {};

/**
 * Whether what this cell may commit for a tenant is not its limit. Without a grant nothing may be committed. The limit
 * is written as the ledger writes a grant, and that is not read: whatever stands there that is no limit is replaced.
 */
export function needsGrant(tenant: Tenant, ledger: TenantLedger | undefined): boolean {
  const grant = ledger?.status?.grant;
  if (grant === undefined) return true;
  const limit = amountsOf(amountOf(tenant.spec.limit ?? unlimited));
  return !isDeepStrictEqual(limit, grant.amounts ?? unlimited);
}
