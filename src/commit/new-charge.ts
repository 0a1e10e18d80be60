import { type Amount, amountOf, countOf, firstOver, ownValue, subtractAmounts } from '../model/amount.js';
import { amountCharged, amountsAsked, rankOf, refusedByGrant } from '../model/asked.js';
import type { Charge } from '../model/parts/charge.js';
import { pickPorts } from '../model/pick-ports.js';
import { plus } from '../model/plus.js';
import type { NodeAccount } from '../model/records.js';
import { shownCount, shownResource } from '../model/shown-resource.js';
import type { Context } from './context.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import type { Candidate } from './placement-rules.js';
import { storedTenant, tenantAccount } from './stored.js';

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
      `node ${node.metadata.name} has not enough ${shownResource(over)} left: ${shown(now, over)} asked for, ${shown(subtractAmounts(account.allocatable, account.used), over)} free`,
    );
  const devices = pickDevices(context, account, now, wanted.devices);
  if ('kind' in devices) return devices;
  const ports = portsFor(context, account, resources?.ports ?? [], wanted.awaitedPorts);
  if ('kind' in ports) return ports;

  const books = tenantAccount(draft, tenant);
  const overGrant = context.checks.has('bind.quota')
    ? refusedByGrant(books, amountCharged(amounts), tenant)
    : undefined;
  if (overGrant !== undefined) return reject(overGrant.reason, overGrant.message);
  const charge = plainCharge(wanted, rankOf(books, storedTenant(draft, undefined, tenant)?.spec, amount));
  if (devices === nothingPicked && ports === nothingPicked) return charge;
  return plus(charge, {
    ...(isAnyPicked(devices) && { devices: devices.picked }),
    ...(isAnyPicked(ports) && { ports: ports.picked }),
  });
}

// By the node as it is stored. Records are never changed: those of one revision that are charged there one after the
// other keep the same charge.
const lastCharges = new WeakMap<object, { readonly charge: Charge; readonly revision: object }>();

/** The charge of one that has neither devices nor ports. */
function plainCharge({ tenant, revision, node }: Wanted, rank: Charge['rank']): Charge {
  const last = lastCharges.get(node);
  if (last?.revision === revision && last.charge.rank === rank && last.charge.tenant === tenant)
    return last.charge;
  const { region = 'local', zone = 'local' } = node.spec;
  const charge: Charge = {
    ...{ tenant, node: node.metadata.name, rank, amounts: amountsAsked(revision.spec.template.resources) },
    ...{ workload: revision.spec.workload, revision: revision.metadata.name, region, zone },
  };
  lastCharges.set(node, { charge, revision });
  return charge;
}

const none: Readonly<Record<string, never>> = {};

const shown = (amount: Amount, resource: string): string =>
  shownCount(resource, countOf(amount, resource) ?? 0);

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

function portsFor(
  { checks }: Context,
  { claims }: NodeAccount,
  asked: readonly string[],
  awaited: Readonly<Record<string, number>> | undefined,
): Picked<number> | Rejection {
  if (asked.length === 0) return nothingPicked;
  const claimedNow = asked.filter((port) => ownValue(awaited, port.split(':')[0] ?? '') === undefined);
  const picked = pickPorts(
    claimedNow,
    (port) => checks.has('bind.ports') && claims.ports[port] !== undefined,
  );
  if ('ports' in picked) return { picked: picked.ports };
  return 'taken' in picked
    ? reject(
        'PortTaken',
        `port ${picked.taken} is claimed by ${claims.ports[picked.taken] ?? 'this replica twice'}`,
      )
    : reject('PortTaken', `no port from ${picked.noneOf} is free`);
}
