import { addAmounts, type Amount, amountOf, countOf, firstOver, subtractAmounts } from './amount.js';
import type { TenantSpec } from './kinds/tenant.js';
import type { Charge } from './parts/charge.js';
import type { Template } from './parts/template.js';
import type { TenantAccount } from './records.js';
import { shownCount, shownResource } from './shown-resource.js';

/** What a replica asks for, and what its tenant's account says to that: the same for who proposes and who commits. */

const none: Readonly<Record<string, never>> = {};
const oneReplica: Amount = { replicas: 1 };

const askedOf = new WeakMap<object, Charge['amounts']>();

/** The amounts of a template without its ports: one object for all charges of it, so that it is parsed once. */
export function amountsAsked(resources: Template['resources'] = none): Charge['amounts'] {
  let amounts = askedOf.get(resources);
  if (amounts === undefined) {
    const { ports: _, ...rest } = resources;
    amounts = rest;
    askedOf.set(resources, amounts);
  }
  return amounts;
}

// By the amounts of the manifest, which all charges of one template share.
const withOneReplica = new WeakMap<Amount, Amount>();

/** What amounts add to a total: themselves, and one replica. */
export function amountCharged(amounts: Charge['amounts']): Amount {
  const amount = amountOf(amounts);
  let charged = withOneReplica.get(amount);
  if (charged === undefined) {
    charged = addAmounts(amount, oneReplica);
    withOneReplica.set(amount, charged);
  }
  return charged;
}

/** [S3] Why a tenant may not be charged with more in this cell; undefined if it may. */
export function refusedByGrant(
  { grant, used }: TenantAccount,
  more: Amount,
  tenant: string,
): { readonly reason: 'QuotaExceeded' | 'GrantExhausted'; readonly message: string } | undefined {
  if (grant === undefined)
    return {
      reason: 'GrantExhausted',
      message: `nothing is granted yet for tenant ${tenant} in this cell`,
    };
  if (grant.isExpired === true)
    return {
      reason: 'GrantExhausted',
      message: `the grant for tenant ${tenant} in this cell has expired`,
    };
  const over = firstOver(used, more, grant.most, 'isUnlimited');
  if (over === undefined) return undefined;
  const [has, asks, most] = [used, more, grant.most].map((amount) =>
    shownCount(over, countOf(amount, over) ?? 0),
  );
  const isWhole = grant.source === 'Whole';
  const bound = isWhole ? 'its limit allows' : 'it is granted in this cell';
  return {
    reason: isWhole ? 'QuotaExceeded' : 'GrantExhausted',
    message: `tenant ${tenant} uses ${has} of the ${most} ${shownResource(over)} that ${bound}, and ${asks} more would be used`,
  };
}

/** Guaranteed if all of it is within the guarantee, beside what is charged as Guaranteed already. */
export function rankOf(books: TenantAccount, spec: TenantSpec | undefined, amount: Amount): Charge['rank'] {
  const guaranteed = amountOf(spec?.guaranteed ?? none);
  const used = subtractAmounts(books.used, books.borrowed);
  return firstOver(used, amount, guaranteed, 'isNone') === undefined ? 'Guaranteed' : 'Borrowed';
}
