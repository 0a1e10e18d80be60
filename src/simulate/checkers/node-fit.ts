import { addAmounts, amountOf, firstOver, subtractAmounts } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import type { NodeAccount } from '../../model/records.js';
import { type CellView, placeOf } from './cell-view.js';
import type { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import { brokenNeighbourRules } from './neighbour-rules.js';
import { brokenNodeRules, type Placed } from './node-rules.js';

/** Whether a node would take a replica, by the rules that the records show: for the checkers of liveness. */

/** A replica that waits for a place. */
export interface Waiting {
  readonly replica: Replica;
  readonly tenant: string;
  readonly revision: WorkloadRevisionSpec;
}

export const placedOn = ({ tenant, replica: { spec } }: Waiting, node: string): Placed => ({
  ...{ tenant, workload: spec.workload, slot: spec.slot, revision: spec.revision, node },
});

/** Whether the node would take it, if it had room. */
export function isAllowedOn(cell: CellView, book: ChargeBook, node: Node, waiting: Waiting): boolean {
  const placed = placedOn(waiting, node.metadata.name);
  return (
    brokenNodeRules(cell, placed).length === 0 &&
    brokenNeighbourRules(cell, book, placed, () => false).length === 0 &&
    cell.nodeEpoch(placed.node)?.state === 'Open' &&
    canRun(cell, node, waiting)
  );
}

/** Whether the node's agent can run it at all, and can keep its fence if it needs one. */
function canRun(cell: CellView, node: Node, { replica, revision: { template } }: Waiting): boolean {
  const { drivers = [], processTenants, fencing } = node.status?.agent ?? {};
  const driver = template.run.container === undefined ? 'process' : 'container';
  if (drivers.length > 0 && !drivers.includes(driver) && !drivers.includes('hollow')) return false;
  const { namespace = '' } = replica.metadata;
  if (driver === 'process' && processTenants?.includes(namespace) === false) return false;
  const workload = cell.object('Workload', replica.metadata.namespace, replica.spec.workload);
  return workload?.spec.onNodeLost?.action !== 'Fence' || fencing !== 'Unsupported';
}

/** Whether its tenant may be charged with one more. */
export function isGranted(cell: CellView, tenant: string, { template }: WorkloadRevisionSpec): boolean {
  const account = cell.tenantAccount(tenant);
  if (account?.grant === undefined || account.grant.isExpired === true) return false;
  const { ports: _, ...amounts } = template.resources ?? {};
  const more = addAmounts(amountOf(amounts), { replicas: 1 });
  return firstOver(account.used, more, account.grant.most, 'isUnlimited') === undefined;
}

/** Whether the amounts, devices and ports are to be had. */
export function hasRoom(account: NodeAccount | undefined, { template }: WorkloadRevisionSpec): boolean {
  if (account === undefined) return false;
  const { ports = [], ...amounts } = template.resources ?? {};
  if (firstOver(account.used, amountOf(amounts), account.allocatable, 'isNone') !== undefined) return false;
  const isFree = (id: string): boolean => account.claims.devices[id] === undefined;
  const hasDevices = Object.entries(amounts.devices ?? {}).every(
    ([name, count]) => (account.devices[name] ?? []).filter(isFree).length >= count,
  );
  return (
    hasDevices &&
    ports.every((port) => {
      const number = port.split(':')[1];
      return number === undefined || account.claims.ports[number] === undefined;
    })
  );
}

/** Whether it would be charged as Guaranteed, and may make others leave. */
export function isWithinGuarantee(cell: CellView, tenant: string, revision: WorkloadRevisionSpec): boolean {
  const className = revision.priorityClassName ?? 'default';
  if (cell.object('PriorityClass', undefined, className)?.spec.preemption === 'Never') return false;
  const { used = {}, borrowed = {} } = cell.tenantAccount(tenant) ?? {};
  const guaranteed = amountOf(cell.object('Tenant', undefined, tenant)?.spec.guaranteed ?? {});
  const { ports: _, ...amounts } = revision.template.resources ?? {};
  return firstOver(subtractAmounts(used, borrowed), amountOf(amounts), guaranteed, 'isNone') === undefined;
}

const canLeaveAt: ReadonlySet<string> = new Set(['Bound', 'Starting', 'Ready', 'Serving']);

/** Whether the charge under a key is of a replica that can be asked to leave. */
export function canLeave(cell: CellView, key: string): boolean {
  const place = placeOf(key);
  if (place?.kind !== 'Replica') return false;
  return canLeaveAt.has(cell.object('Replica', place.tenant, place.name)?.status?.stage ?? '');
}

/** The account of a node as it would be without some of its charges. */
export function accountWithout(account: NodeAccount, gone: readonly LiveCharge[]): NodeAccount {
  const owners = new Set(gone.map(({ uid }) => uid));
  const left = (claims: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(claims).filter(([, uid]) => !owners.has(uid)));
  return {
    ...account,
    used: gone.reduce((sum, { full }) => subtractAmounts(sum, full), account.used),
    claims: { devices: left(account.claims.devices), ports: left(account.claims.ports) },
  };
}
