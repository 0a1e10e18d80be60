import { type Amount, amountOf, countOf, eachResource, noAmount } from '../../model/amount.js';
import { type TenantAccount, tenantAccountKey } from '../../model/records.js';
import { isDeepStrictEqual } from 'node:util';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { KnownExcess } from './known-excess.js';

const prefix = '/a/tenant/';

/** What a tenant may have of a resource: nothing without a grant that stands, anything that the grant does not name. */
function granted(account: TenantAccount | undefined, resource: string): number {
  const grant = account?.grant;
  if (grant === undefined || grant.isExpired === true) return 0;
  return countOf(grant.most, resource) ?? Number.POSITIVE_INFINITY;
}

/** [S3] No commit raises a tenant's use above its grant, and no grant is above the tenant's limit when it is written. */
export class TenantGrants implements SafetyChecker {
  readonly rule = 'S3';
  checked = 0;
  readonly #book = new ChargeBook();
  readonly #excess = new KnownExcess();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const moved = this.#book.apply(commit, state);
    const accounts = new Map(commit.changes.map((change) => [change.key, change.before]));
    const touched = new Set(moved.tenants.keys());
    for (const key of accounts.keys()) if (key.startsWith(prefix)) touched.add(key.slice(prefix.length));

    return [...touched].flatMap((tenant) => {
      const key = tenantAccountKey(tenant);
      const after = cell.tenantAccount(tenant);
      const before = (accounts.has(key) ? accounts.get(key) : after) as TenantAccount | undefined;
      const bound = (resource: string): number => granted(after, resource);
      const most = (resource: string): number => Math.max(granted(before, resource), bound(resource));
      const { used } = this.#book.ofTenant(tenant);
      const usedBefore = moved.tenants.get(tenant)?.used ?? used;
      this.checked += 1;
      return [
        ...this.#excess.raised(
          `${key} account`,
          before?.used ?? noAmount,
          after?.used ?? noAmount,
          most,
          bound,
        ),
        ...this.#excess.raised(`${key} sum of charges`, usedBefore, used, most, bound),
        ...(isDeepStrictEqual(before?.grant, after?.grant) ? [] : aboveLimit(cell, tenant, after)),
      ].map((message): Violation => ({ rule: this.rule, revision: state.revision, message }));
    });
  }

  whole(state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const book = ChargeBook.of(state);
    const tenants = new Set(book.tenants);
    for (const [key] of state.under(prefix)) tenants.add(key.slice(prefix.length));
    return [...tenants].flatMap((tenant) => {
      const account = cell.tenantAccount(tenant);
      const bound = (resource: string): number => granted(account, resource);
      const unknown = (what: string, used: Amount): readonly string[] =>
        this.#excess.unknown(`${tenantAccountKey(tenant)} ${what}`, used, bound);
      return [
        ...unknown('account', account?.used ?? noAmount),
        ...unknown('sum of charges', book.ofTenant(tenant).used),
      ].map((message): Violation => ({ rule: this.rule, revision: state.revision, message }));
    });
  }
}

/** A cell that is its own global plane grants the whole limit, so the grants add up to the limit if this one does not pass it. */
function aboveLimit(cell: CellView, tenant: string, account: TenantAccount | undefined): readonly string[] {
  const grant = account?.grant;
  if (grant === undefined) return [];
  const key = tenantAccountKey(tenant);
  const spec = cell.object('Tenant', undefined, tenant)?.spec;
  if (spec === undefined) return [`${key} has a grant, but there is no tenant ${tenant}`];
  const limit = amountOf(spec.limit ?? {});
  const above = [...eachResource(limit)]
    .filter(([resource, count]) => (countOf(grant.most, resource) ?? Number.POSITIVE_INFINITY) > count)
    .map(
      ([resource, count]) =>
        `${key} grants ${countOf(grant.most, resource) ?? 'unlimited'} ${resource}; the limit is ${count}`,
    );
  return grant.source === 'Whole' ? above : [...above, `${key} has a grant with source ${grant.source}`];
}
