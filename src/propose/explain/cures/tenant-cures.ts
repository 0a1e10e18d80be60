import { amountsOf, countOf } from '../../../model/amount.js';
import type { Amounts } from '../../../model/parts/amounts.js';
import {
  type CureContext,
  isAllBy,
  type Part,
  patching,
  shapeOf,
  shownAmounts,
  type TriedCure,
} from './tried-cure.js';
import { amountWhere } from './tried-cure.js';

/** Raises the limit of the tenant to exactly what is needed, or lets it be where the law of a region is. */
export function tenantCures(context: CureContext, isQuotaOpen: boolean): TriedCure[] {
  const { cell, cls, fitting, refused } = context;
  const tenant = { kind: 'Tenant', name: cls.tenant } as const;
  const limit = isQuotaOpen ? undefined : limitNeeded(context);
  if (!isQuotaOpen && limit === undefined) return [];
  const raised: Part[] =
    limit === undefined
      ? []
      : [{ words: `raise the limit of tenant ${cls.tenant} to ${shownAmounts(limit)}` }];
  const [node] = fitting;
  if (node !== undefined) return [patching(tenant, node, raised, { spec: { limit } })];
  return refused
    .filter((one) => isAllBy(one, ['residency']))
    .flatMap((one) => {
      const law = cell.regions.get(shapeOf(cell, one.node)?.region ?? '')?.jurisdiction;
      if (law === undefined) return [];
      const parts = [...raised, { words: `allow tenant ${cls.tenant} to be in ${law}` }];
      const residency = [...cls.residency, law];
      return [patching(tenant, one.node, parts, { spec: { ...(limit && { limit }), residency } })];
    });
}

/** What the limit must name for one replica more: what is used and what it asks for, where that is over. */
function limitNeeded({ cell, cls }: CureContext): (Amounts & { readonly replicas?: number }) | undefined {
  const { grant, used } = cell.tenantAccount(cls.tenant);
  // A part of a limit is granted from elsewhere, and one that has expired is not cured by a larger limit.
  if (grant === undefined || grant.isExpired === true || grant.source !== 'Whole') return undefined;
  const short = amountWhere(cls.charged, (resource, count) => {
    const needed = (countOf(used, resource) ?? 0) + count;
    const most = countOf(grant.most, resource);
    return most !== undefined && needed > most ? needed : undefined;
  });
  return short === undefined ? undefined : amountsOf(short);
}
