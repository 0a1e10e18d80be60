import { type Amount, amountOf, countOf, eachResource } from '../../model/amount.js';
import type { Tenant } from '../../model/kinds/tenant.js';
import type { TenantLedger } from '../../model/kinds/tenant-ledger.js';

const unlimited = {};

/** Whether what this cell may commit for a tenant is not its limit. Without a grant nothing may be committed. */
export function needsGrant(tenant: Tenant, ledger: TenantLedger | undefined): boolean {
  const grant = ledger?.status?.grant;
  if (grant === undefined) return true;
  return !isSameLimit(amountOf(tenant.spec.limit ?? unlimited), amountOf(grant.amounts ?? unlimited));
}

/** As limits: a resource that is not named is not limited, which is not the same as none of it. */
function isSameLimit(a: Amount, b: Amount): boolean {
  const [left, right] = [[...eachResource(a)], [...eachResource(b)]];
  return left.length === right.length && left.every(([resource, count]) => countOf(b, resource) === count);
}
