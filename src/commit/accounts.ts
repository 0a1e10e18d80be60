import { addAmounts, type Amount, amountOf, ownValue, subtractAmounts } from '../model/amount.js';
import { amountCharged } from '../model/asked.js';
import type { Charge } from '../model/parts/charge.js';
import { plus } from '../model/plus.js';
import {
  type NodeAccount,
  nodeAccountKey,
  type TenantAccount,
  tenantAccountKey,
  type WorkloadAccount,
  workloadAccountKey,
} from '../model/records.js';
import type { Context } from './context.js';
import type { Draft } from './draft.js';
import { nodeAccount, tenantAccount, workloadAccount } from './stored.js';

/**
 * Posts charges to the accounts of node, tenant and workload, in the transaction that writes the charge itself
 * (S7: accounts equal the sum of charges).
 */

/** What a charge adds to a total: its amounts, and one replica. */
export const chargedAmount = (charge: Charge): Amount => amountCharged(charge.amounts);

const deviceIds = (charge: Charge): readonly string[] => Object.values(charge.devices ?? {}).flat();
const portNumbers = (charge: Charge): readonly string[] => Object.values(charge.ports ?? {}).map(String);

/** Posts a new charge of `owner`. `onNode` is what of it the node carries already: all of it, unless victims still do. */
export function postCharge(
  context: Context,
  draft: Draft,
  owner: string,
  charge: Charge,
  onNode: Amount = chargedAmount(charge),
): void {
  const { checks } = context;
  const node = nodeAccount(draft, charge.node);
  if (node !== undefined) {
    const posted: NodeAccount = plus(node, {
      used: checks.has('post.node.used') ? addAmounts(node.used, onNode) : node.used,
      claims: checks.has('post.node.claims') ? withClaims(node, charge, owner) : node.claims,
      revisions: checks.has('post.node.revisions')
        ? counted(node.revisions, revisionKey(charge), 1)
        : node.revisions,
    });
    draft.put(nodeAccountKey(charge.node), posted);
  }
  const tenant = tenantAccount(draft, charge.tenant);
  const amount = chargedAmount(charge);
  const posted: TenantAccount = plus(tenant, {
    used: checks.has('post.tenant.used') ? addAmounts(tenant.used, amount) : tenant.used,
    borrowed:
      charge.rank === 'Borrowed' && checks.has('post.tenant.borrowed')
        ? addAmounts(tenant.borrowed, amountOf(charge.amounts))
        : tenant.borrowed,
  });
  draft.put(tenantAccountKey(charge.tenant), posted);
  if (checks.has('post.workload')) countInWorkload(draft, charge, 1);
}

/** Takes a charge back. `freed` is what the node gets back: all that it carried of it. */
export function unpostCharge(
  context: Context,
  draft: Draft,
  owner: string,
  charge: Charge,
  freed: Amount = chargedAmount(charge),
): void {
  const { checks } = context;
  const node = nodeAccount(draft, charge.node);
  if (node !== undefined && checks.has('unpost.node')) {
    draft.put(nodeAccountKey(charge.node), {
      ...node,
      used: subtractAmounts(node.used, freed),
      claims: withoutClaims(node, charge, owner),
      revisions: counted(node.revisions, revisionKey(charge), -1),
    } satisfies NodeAccount);
  }
  if (checks.has('unpost.tenant')) {
    const tenant = tenantAccount(draft, charge.tenant);
    const amount = chargedAmount(charge);
    const isLost = charge.subtotal === 'Lost';
    draft.put(tenantAccountKey(charge.tenant), {
      ...tenant,
      ...(isLost
        ? { lost: subtractAmounts(tenant.lost, amount) }
        : {
            used: subtractAmounts(tenant.used, amount),
            borrowed:
              charge.rank === 'Borrowed'
                ? subtractAmounts(tenant.borrowed, amountOf(charge.amounts))
                : tenant.borrowed,
          }),
    });
  }
  if (checks.has('unpost.workload')) countInWorkload(draft, charge, -1);
}

/** A lost replica was replaced: its tenant must be able to recover at its limit, so its charge no longer counts there. */
export function moveToLost(context: Context, draft: Draft, charge: Charge): Charge {
  if (charge.subtotal === 'Lost') return charge;
  const tenant = tenantAccount(draft, charge.tenant);
  const amount = chargedAmount(charge);
  if (context.checks.has('post.lost')) {
    draft.put(tenantAccountKey(charge.tenant), {
      ...tenant,
      used: subtractAmounts(tenant.used, amount),
      borrowed:
        charge.rank === 'Borrowed'
          ? subtractAmounts(tenant.borrowed, amountOf(charge.amounts))
          : tenant.borrowed,
      lost: addAmounts(tenant.lost, amount),
    });
  }
  return { ...charge, subtotal: 'Lost' };
}

/** What a hold claims becomes the replica's: amounts stay, the owner changes. */
export function moveClaims(context: Context, draft: Draft, charge: Charge, from: string, to: string): void {
  if (charge.devices === undefined && charge.ports === undefined) return;
  const node = nodeAccount(draft, charge.node);
  if (node === undefined || !context.checks.has('post.node.claims')) return;
  const devices = renamed(node.claims.devices, from, to);
  const ports = renamed(node.claims.ports, from, to);
  if (devices === node.claims.devices && ports === node.claims.ports) return;
  draft.put(nodeAccountKey(charge.node), { ...node, claims: { devices, ports } } satisfies NodeAccount);
}

const revisionKey = (charge: Charge): string => `${charge.tenant}/${charge.revision ?? ''}`;

function withClaims(node: NodeAccount, charge: Charge, owner: string): NodeAccount['claims'] {
  const ids = deviceIds(charge);
  const ports = portNumbers(charge);
  if (ids.length === 0 && ports.length === 0) return node.claims;
  return {
    devices: { ...node.claims.devices, ...Object.fromEntries(ids.map((id) => [id, owner])) },
    ports: { ...node.claims.ports, ...Object.fromEntries(ports.map((port) => [port, owner])) },
  };
}

const without = (claims: Readonly<Record<string, string>>, owner: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(claims).filter(([, uid]) => uid !== owner));

const withoutClaims = (
  { claims }: NodeAccount,
  { devices, ports }: Charge,
  owner: string,
): NodeAccount['claims'] => ({
  devices: devices === undefined ? claims.devices : without(claims.devices, owner),
  ports: ports === undefined ? claims.ports : without(claims.ports, owner),
});

function renamed(
  claims: Readonly<Record<string, string>>,
  from: string,
  to: string,
): Readonly<Record<string, string>> {
  const entries = Object.entries(claims);
  if (!entries.some(([, uid]) => uid === from)) return claims;
  return Object.fromEntries(entries.map(([id, uid]) => [id, uid === from ? to : uid]));
}

/** A count that falls to zero is dropped, so that records do not grow with all that ever was. */
export function counted(
  counts: Readonly<Record<string, number>>,
  key: string,
  more: 1 | -1,
): Readonly<Record<string, number>> {
  const count = (ownValue(counts, key) ?? 0) + more;
  if (count !== 0) return { ...counts, [key]: count };
  const { [key]: _, ...rest } = counts;
  return rest;
}

function countInWorkload(draft: Draft, charge: Charge, more: 1 | -1): void {
  if (charge.workload === undefined || charge.region === undefined || charge.zone === undefined) return;
  const account = workloadAccount(draft, charge.tenant, charge.workload);
  const next: WorkloadAccount = plus(account, {
    regions: counted(account.regions, charge.region, more),
    zones: counted(account.zones, `${charge.region}/${charge.zone}`, more),
  });
  putWorkloadAccount(draft, charge.tenant, charge.workload, next);
}

/** An account with nothing in it is not kept. */
export function putWorkloadAccount(
  draft: Draft,
  tenant: string,
  workload: string,
  account: WorkloadAccount,
): void {
  const key = workloadAccountKey(tenant, workload);
  const isEmpty = account.disrupted === 0 && Object.keys(account.regions).length === 0;
  if (isEmpty) draft.delete(key);
  else draft.put(key, account);
}
