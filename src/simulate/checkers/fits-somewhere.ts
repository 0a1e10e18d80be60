import { addAmounts, amountOf, firstOver } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState } from './checker.js';
import { resultOf, type LivenessResult } from './liveness-facts.js';
import { brokenNeighbourRules } from './neighbour-rules.js';
import { brokenNodeRules } from './node-rules.js';

/**
 * [L1] Work that fits and is allowed gets bound: nothing is Queued that a node would take as the cell stands. Not
 * judged: members of gangs, which must fit together, what must be near others, and what must be kept from the zones of
 * other workloads.
 */
export function fitsSomewhere(state: CellState): LivenessResult {
  const cell = new CellView(state);
  const book = ChargeBook.of(state);
  const nodes = [...cell.objects('Node')].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  let checked = 0;
  const messages: string[] = [];
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
        hasRoom(cell, placed.node, revision)
      );
    });
    if (fitting.length > 0)
      messages.push(
        `/s/Replica/${tenant}/${metadata.name} is Queued and would fit on ${fitting.map((node) => node.metadata.name).join(', ')}`,
      );
  }
  return resultOf('L1', state, checked, messages);
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

function hasRoom(cell: CellView, node: string, { template }: WorkloadRevisionSpec): boolean {
  const account = cell.nodeAccount(node);
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
  const { drivers = [], fencing } = node.status?.agent ?? {};
  const driver = template.run.container === undefined ? 'process' : 'container';
  if (drivers.length > 0 && !drivers.includes(driver) && !drivers.includes('hollow')) return false;
  const workload = cell.object('Workload', replica.metadata.namespace, replica.spec.workload);
  return workload?.spec.onNodeLost?.action !== 'Fence' || fencing !== 'Unsupported';
}
