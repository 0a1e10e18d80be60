import {
  addAmounts,
  type Amount,
  amountOf,
  countOf,
  firstOver,
  ownValue,
  subtractAmounts,
} from '../model/amount.js';
import type { Charge } from '../model/parts/charge.js';
import type { Template } from '../model/parts/template.js';
import { rankOfCharge } from '../model/rank.js';
import type { NodeAccount, TenantAccount } from '../model/records.js';
import type { Context } from './context.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import type { Candidate } from './placement-rules.js';
import { storedTenant, tenantAccount } from './stored.js';

// Ports that are asked for by name only are picked from here, above those that services are usually given and
// below those that the kernel gives out.
const pickedPortFirst = 20_000;
const pickedPortLast = 29_999;

export interface Wanted extends Candidate {
  /** Devices by class that the scheduler picked. */
  readonly devices?: Readonly<Record<string, readonly string[]>> | undefined;
  /** What victims on the node will free for it: devices by class are then not all claimed yet. */
  readonly awaited?: Amount;
  /** Ports by name that victims still have: they are claimed when those end. */
  readonly awaitedPorts?: Readonly<Record<string, number>>;
}

/** The charge of a replica on a node, if node, tenant and the claims allow it now. Posted by the caller. */
export function newCharge(context: Context, draft: Draft, wanted: Wanted): Charge | Rejection {
  const { tenant, revision, node, account } = wanted;
  const { resources } = revision.spec.template;
  const amounts = amountsAsked(resources);
  const amount = amountOf(amounts);
  const now = wanted.awaited === undefined ? amount : subtractAmounts(amount, wanted.awaited);
  const over = firstOver(account.used, now, account.allocatable, 'isNone');
  if (over !== undefined && context.checks.has('bind.capacity'))
    return reject(
      'NodeFull',
      `node ${node.metadata.name} has not enough ${over} left: ${shown(now, over)} asked for, ${shown(subtractAmounts(account.allocatable, account.used), over)} free`,
    );
  const devices = pickDevices(context, account, now, wanted.devices);
  if ('kind' in devices) return devices;
  const ports = pickPorts(context, account, resources?.ports ?? [], wanted.awaitedPorts);
  if ('kind' in ports) return ports;

  const books = tenantAccount(draft, tenant);
  const overGrant = context.checks.has('bind.quota')
    ? checkGrant(books, addAmounts(amount, oneReplica), tenant)
    : undefined;
  if (overGrant !== undefined) return overGrant;
  const { region = 'local', zone = 'local' } = node.spec;
  return {
    tenant,
    node: node.metadata.name,
    rank: rankOfCharge(books, guaranteedTo(draft, tenant), amount),
    amounts,
    workload: revision.spec.workload,
    revision: revision.metadata.name,
    region,
    zone,
    ...(isAnyPicked(devices) && { devices: devices.picked }),
    ...(isAnyPicked(ports) && { ports: ports.picked }),
  };
}

const oneReplica: Amount = { replicas: 1 };
const none: Readonly<Record<string, never>> = {};

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

const shown = (amount: Amount, resource: string): string =>
  `${Math.max(0, countOf(amount, resource) ?? 0)}${resource === 'cpu' ? 'm' : ''}`;

/** [S3] Within what this cell may commit for the tenant. */
function checkGrant({ grant, used }: TenantAccount, more: Amount, tenant: string): Rejection | undefined {
  if (grant === undefined)
    return reject('GrantExhausted', `nothing is granted yet for tenant ${tenant} in this cell`);
  if (grant.isExpired === true)
    return reject('GrantExhausted', `the grant for tenant ${tenant} in this cell has expired`);
  const over = firstOver(used, more, grant.most, 'isUnlimited');
  if (over === undefined) return undefined;
  return grant.source === 'Whole'
    ? reject('QuotaExceeded', `tenant ${tenant} would have more ${over} than its limit`)
    : reject('GrantExhausted', `tenant ${tenant} would have more ${over} than is granted to this cell`);
}

const guaranteedTo = (draft: Draft, tenant: string): Amount =>
  amountOf(storedTenant(draft, undefined, tenant)?.spec.guaranteed ?? none);

type Picked<T> = { readonly picked: Readonly<Record<string, T>> };

// Most work asks for neither devices nor ports.
const nothingPicked: Picked<never> = { picked: {} };
const isAnyPicked = (some: Picked<unknown>): boolean =>
  some !== nothingPicked && Object.keys(some.picked).length > 0;

function pickDevices(
  { checks }: Context,
  { devices, claims }: NodeAccount,
  { devices: counts = none }: Amount,
  named: Readonly<Record<string, readonly string[]>> | undefined,
): Picked<string[]> | Rejection {
  if (counts === none) return nothingPicked;
  const picked: Record<string, string[]> = {};
  for (const [name, count] of Object.entries(counts)) {
    if (count <= 0) continue;
    const all = ownValue(devices, name) ?? [];
    const free = checks.has('bind.devices')
      ? all.filter((id) => ownValue(claims.devices, id) === undefined)
      : all;
    const ids = ownValue(named, name) ?? free.slice(0, count);
    const taken = ids.find((id) => !free.includes(id));
    if (taken !== undefined)
      return reject(
        'DeviceTaken',
        `device ${taken} is claimed by ${ownValue(claims.devices, taken) ?? 'nobody, and not on this node'}`,
      );
    if (ids.length < count)
      return reject('DeviceTaken', `${count} devices of class ${name} are asked for, ${ids.length} are free`);
    if (new Set(ids).size !== count)
      return reject(
        'DeviceTaken',
        `${count} devices of class ${name} are asked for, not those named: ${ids.join(', ')}`,
      );
    picked[name] = [...ids];
  }
  return { picked };
}

function pickPorts(
  { checks }: Context,
  { claims }: NodeAccount,
  asked: readonly string[],
  awaited: Readonly<Record<string, number>> | undefined,
): Picked<number> | Rejection {
  if (asked.length === 0) return nothingPicked;
  const picked: Record<string, number> = {};
  const isFree = (port: number): boolean =>
    !checks.has('bind.ports') || (claims.ports[port] === undefined && !Object.values(picked).includes(port));
  // Those with a number first: a name must not be given a number that another asks for.
  for (const port of asked) {
    const [name = '', number] = port.split(':');
    if (number === undefined || ownValue(awaited, name) !== undefined) continue;
    if (!isFree(Number(number)))
      return reject(
        'PortTaken',
        `port ${number} is claimed by ${claims.ports[number] ?? 'this replica twice'}`,
      );
    picked[name] = Number(number);
  }
  let next = pickedPortFirst;
  for (const name of asked) {
    if (name.includes(':')) continue;
    while (next <= pickedPortLast && !isFree(next)) next += 1;
    if (next > pickedPortLast)
      return reject('PortTaken', `no port from ${pickedPortFirst} to ${pickedPortLast} is free`);
    picked[name] = next;
    next += 1;
  }
  return { picked };
}
