import { type Amount, amountOf, countOf, eachResource } from '../../model/amount.js';
import type { Grant } from '../../model/ports.js';
import { type TenantAccount, tenantAccountKey } from '../../model/records.js';
import { checkActor } from '../act.js';
import { type Context, nextEpoch } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { storedTenant, tenantAccount } from '../stored.js';

const unlimited = {};

/** [S3] This cell is its own global plane: it is granted the whole limit, as the tenant's spec is at that revision. */
export const grantWhole =
  (context: Context, input: Grant): Decide<undefined> =>
  (draft) => {
    const stale = checkActor(context, draft, 'grant', input.actor);
    if (stale !== undefined) return stale;
    const tenant = storedTenant(draft, undefined, input.tenant);
    if (tenant === undefined) return reject('NotOwner', `there is no tenant ${input.tenant}`);
    const account = tenantAccount(draft, input.tenant);
    const limit = amountOf(tenant.spec.limit ?? unlimited);
    const most = context.checks.has('grant.limit')
      ? limit
      : { ...limit, cpuMilli: (limit.cpuMilli ?? 0) * 2 };
    const { grant } = account;
    if (grant?.source === 'Whole' && grant.isExpired !== true && isSameLimit(grant.most, most))
      return already(undefined);
    const epoch = nextEpoch(context.cell, grant?.epoch);
    draft.put(tenantAccountKey(input.tenant), {
      ...account,
      grant: { most, epoch, source: 'Whole' },
    } satisfies TenantAccount);
    return commit(undefined);
  };

/** A limit of nothing and no limit are not the same. */
function isSameLimit(a: Amount, b: Amount): boolean {
  const resources = new Set([...eachResource(a), ...eachResource(b)].map(([resource]) => resource));
  for (const resource of resources) if (countOf(a, resource) !== countOf(b, resource)) return false;
  return true;
}
