import type { Node } from '../../model/kinds/node.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Placement } from '../../model/parts/placement.js';
import { recoveryPoolLabel } from '../../model/records.js';
import type { CellView } from './cell-view.js';

/** A replica, or a hold for one, on a node. */
export interface Placed {
  readonly tenant: string;
  readonly workload: string;
  readonly slot: string;
  readonly revision: string;
  readonly node: string;
}

type Taint = NonNullable<Node['spec']['taints']>[number];
type Toleration = NonNullable<Placement['tolerations']>[number];

export const regionOf = (node: Node): string => node.spec.region ?? 'local';
export const zoneOf = (node: Node): string => node.spec.zone ?? 'local';

const allows = (list: readonly string[] | undefined, name: string): boolean =>
  list === undefined || list.length === 0 || list.includes(name);

function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined || key === '') return operator === 'Exists';
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
}

/** Whether work of a revision may be on a node that is kept for recovery; every other node is open to all. */
export function mayUsePool(cell: CellView, node: Node, revision: WorkloadRevision): boolean {
  if (node.metadata.labels?.[recoveryPoolLabel] !== 'true') return true;
  const className = revision.spec.priorityClassName ?? 'default';
  return cell.object('PriorityClass', undefined, className)?.spec.recoveryPools === true;
}

/** The jurisdictions' word on a region for a tenant. */
export function isResident(cell: CellView, tenant: string, region: string): boolean {
  const residency = cell.object('Tenant', undefined, tenant)?.spec.residency ?? [];
  const jurisdiction = cell.object('Region', undefined, region)?.spec.jurisdiction;
  return residency.length === 0 || (jurisdiction !== undefined && residency.includes(jurisdiction));
}

/** The hard rules of placement that concern the node alone: what is broken, as sentences. */
export function brokenNodeRules(cell: CellView, placed: Placed): readonly string[] {
  const node = cell.object('Node', undefined, placed.node);
  const revision = cell.object('WorkloadRevision', placed.tenant, placed.revision);
  if (node === undefined) return [`there is no node ${placed.node}`];
  if (revision === undefined) return [`there is no revision ${placed.tenant}/${placed.revision}`];
  if (cell.object('Tenant', undefined, placed.tenant) === undefined)
    return [`there is no tenant ${placed.tenant}`];

  const { placement = {} } = revision.spec;
  const broken: string[] = [];
  const require = (isKept: boolean, message: string): void => {
    if (!isKept) broken.push(message);
  };
  const workload = cell.object('Workload', placed.tenant, placed.workload);
  const isFenced = workload?.spec.onNodeLost?.action === 'Fence';
  require(!isFenced || node.status?.agent?.fencing !== 'Unsupported', 'the node cannot keep a fence');
  const region = regionOf(node);
  const zone = zoneOf(node);
  require(allows(
    placement.regions,
    region,
  ), `region ${region} is not one of ${placement.regions?.join(', ')}`);
  require(allows(placement.zones, zone), `zone ${zone} is not one of ${placement.zones?.join(', ')}`);
  require(isResident(cell, placed.tenant, region), `region ${region} is outside the tenant's residency`);
  require(allows(node.spec.tenants, placed.tenant), `the node admits only ${node.spec.tenants?.join(', ')}`);
  for (const [label, value] of Object.entries(placement.nodeSelector ?? {}))
    require(node.metadata.labels?.[label] ===
      value, `label ${label} is ${node.metadata.labels?.[label] ?? 'not there'}, not ${value}`);
  for (const taint of node.spec.taints ?? [])
    require(taint.effect === 'PreferNoSchedule' ||
      (placement.tolerations ?? []).some((toleration) =>
        tolerates(toleration, taint),
      ), `taint ${taint.key}:${taint.effect} is not tolerated`);
  require(node.spec.unschedulable !== true, 'the node is unschedulable');
  require(node.spec.drain === undefined, 'the node drains');
  require(node.metadata.deletionTimestamp === undefined, 'the node is being deleted');
  require(mayUsePool(
    cell,
    node,
    revision,
  ), `class ${revision.spec.priorityClassName ?? 'default'} may not use recovery pools`);
  const gate = cell.nodeAccount(placed.node)?.gate.state;
  require(gate === 'Open', `the gate is ${gate ?? 'not there'}`);
  const type = cell.object('Workload', placed.tenant, placed.workload)?.spec.type;
  require(type !== 'Daemon' ||
    placed.slot === placed.node, `the slot of the daemon is for node ${placed.slot}`);
  return broken;
}
