import { addAmounts, amountOf, firstOver, subtractAmounts } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import type { NodeAccount } from '../../model/records.js';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState } from './checker.js';
import { resultOf, type LivenessResult } from './liveness-facts.js';
import { brokenNeighbourRules } from './neighbour-rules.js';
import { brokenNodeRules } from './node-rules.js';

/** A replica that waits for a place, and the nodes that would take it. */
interface Waiting {
  readonly replica: Replica;
  readonly tenant: string;
  readonly revision: WorkloadRevisionSpec;
  readonly fitting: readonly string[];
}

type HasRoom = (cell: CellView, book: ChargeBook, node: string, waiting: Omit<Waiting, 'fitting'>) => boolean;

/**
 * Every replica that is Queued, with the nodes that its rules and `hasRoom` allow. Not judged: members of gangs, which
 * must fit together, what must be near others, and what must be kept from the zones of other workloads.
 */
function judgeWaiting(state: CellState, hasRoomFor: HasRoom): { checked: number; waiting: Waiting[] } {
  const cell = new CellView(state);
  const book = ChargeBook.of(state);
  const nodes = [...cell.objects('Node')].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  let checked = 0;
  const waiting: Waiting[] = [];
  for (const replica of cell.objects('Replica')) {
    const { metadata, spec, status } = replica;
    if (status?.stage === 'Admitted' || spec.gang !== undefined) continue;
    checked += 1;
    const revision = cell.object('WorkloadRevision', metadata.namespace, spec.revision)?.spec;
    const isAsked = status?.intent === undefined && metadata.deletionTimestamp === undefined;
    if (status?.stage !== 'Queued' || revision === undefined || !isAsked) continue;
    if (isJudgedByOthers(revision)) continue;
    const tenant = metadata.namespace ?? '';
    if (!isGranted(cell, tenant, revision)) continue;
    const { workload, slot } = spec;
    const fitting = nodes.filter((node) => {
      const placed = { tenant, workload, slot, revision: spec.revision, node: node.metadata.name };
      return (
        brokenNodeRules(cell, placed).length === 0 &&
        brokenNeighbourRules(cell, book, placed, () => false).length === 0 &&
        cell.nodeEpoch(placed.node)?.state === 'Open' &&
        canRun(cell, node, replica, revision) &&
        hasRoomFor(cell, book, placed.node, { replica, tenant, revision })
      );
    });
    waiting.push({ replica, tenant, revision, fitting: fitting.map((node) => node.metadata.name) });
  }
  return { checked, waiting };
}

/** [L1] Work that fits and is allowed gets bound: nothing is Queued that a node would take as the cell stands. */
export function fitsSomewhere(state: CellState): LivenessResult {
  const { checked, waiting } = judgeWaiting(state, (cell, _, node, { revision }) =>
    hasRoom(cell.nodeAccount(node), revision),
  );
  const messages = waiting
    .filter(({ fitting }) => fitting.length > 0)
    .map(
      ({ tenant, replica, fitting }) =>
        `/s/Replica/${tenant}/${replica.metadata.name} is Queued and would fit on ${fitting.join(', ')}`,
    );
  return resultOf('L1', state, checked, messages);
}

/**
 * [L10] Demand within a guarantee is placed despite borrowers: nothing is Queued that would be charged as Guaranteed and
 * that a node would take if those left that run there and are Borrowed. A workload does not make room for itself.
 */
export function guaranteesKept(state: CellState): LivenessResult {
  const view = new CellView(state);
  const { checked, waiting } = judgeWaiting(state, (cell, book, node, waits) => {
    const account = cell.nodeAccount(node);
    return (
      account !== undefined && hasRoom(withoutBorrowers(cell, book, node, account, waits), waits.revision)
    );
  });
  const messages = waiting
    .filter(
      ({ fitting, tenant, revision }) => fitting.length > 0 && isWithinGuarantee(view, tenant, revision),
    )
    .map(
      ({ tenant, replica, fitting }) =>
        `/s/Replica/${tenant}/${replica.metadata.name} is Queued within the guarantee of ${tenant}; borrowers are on ${fitting.join(', ')}`,
    );
  return resultOf('L10', state, checked, messages);
}

function isWithinGuarantee(cell: CellView, tenant: string, revision: WorkloadRevisionSpec): boolean {
  const className = revision.priorityClassName ?? 'default';
  if (cell.object('PriorityClass', undefined, className)?.spec.preemption === 'Never') return false;
  const { used = {}, borrowed = {} } = cell.tenantAccount(tenant) ?? {};
  const guaranteed = amountOf(cell.object('Tenant', undefined, tenant)?.spec.guaranteed ?? {});
  const { ports: _, ...amounts } = revision.template.resources ?? {};
  return firstOver(subtractAmounts(used, borrowed), amountOf(amounts), guaranteed, 'isNone') === undefined;
}

const canLeave: ReadonlySet<string> = new Set(['Bound', 'Starting', 'Ready', 'Serving']);

/** The account of a node as it would be without the borrowers that can be asked to leave. */
function withoutBorrowers(
  cell: CellView,
  book: ChargeBook,
  node: string,
  account: NodeAccount,
  { tenant, replica }: Omit<Waiting, 'fitting'>,
): NodeAccount {
  const gone = [...book.chargesOnNode(node)].filter(({ key, charge }) => {
    const name = key.slice(key.lastIndexOf('/') + 1);
    const isOwn = charge.tenant === tenant && charge.workload === replica.spec.workload;
    const stage = cell.object('Replica', charge.tenant, name)?.status?.stage ?? '';
    return key.startsWith('/s/Replica/') && charge.rank === 'Borrowed' && !isOwn && canLeave.has(stage);
  });
  const owners = new Set(gone.map(({ uid }) => uid));
  const left = (claims: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(claims).filter(([, uid]) => !owners.has(uid)));
  return {
    ...account,
    used: gone.reduce((sum, { full }) => subtractAmounts(sum, full), account.used),
    claims: { devices: left(account.claims.devices), ports: left(account.claims.ports) },
  };
}

/** Rules that say of other workloads where this one may be, which is best effort and not judged here. */
function isJudgedByOthers({ placement }: WorkloadRevisionSpec): boolean {
  const isHard = ({ mode = 'Required' }: { readonly mode?: string }): boolean => mode === 'Required';
  return (
    (placement?.affinity ?? []).some(isHard) ||
    (placement?.antiAffinity ?? []).some(
      (rule) => isHard(rule) && rule.topology !== 'Node' && rule.selector !== undefined,
    )
  );
}

function isGranted(cell: CellView, tenant: string, { template }: WorkloadRevisionSpec): boolean {
  const account = cell.tenantAccount(tenant);
  if (account?.grant === undefined || account.grant.isExpired === true) return false;
  const { ports: _, ...amounts } = template.resources ?? {};
  const more = addAmounts(amountOf(amounts), { replicas: 1 });
  return firstOver(account.used, more, account.grant.most, 'isUnlimited') === undefined;
}

function hasRoom(account: NodeAccount | undefined, { template }: WorkloadRevisionSpec): boolean {
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

/** Whether the node's agent can run it at all, and can keep its fence if it needs one. */
function canRun(cell: CellView, node: Node, replica: Replica, { template }: WorkloadRevisionSpec): boolean {
  const { drivers = [], processTenants, fencing } = node.status?.agent ?? {};
  const driver = template.run.container === undefined ? 'process' : 'container';
  if (drivers.length > 0 && !drivers.includes(driver) && !drivers.includes('hollow')) return false;
  const { namespace = '' } = replica.metadata;
  if (driver === 'process' && processTenants?.includes(namespace) === false) return false;
  const workload = cell.object('Workload', replica.metadata.namespace, replica.spec.workload);
  return workload?.spec.onNodeLost?.action !== 'Fence' || fencing !== 'Unsupported';
}
