import type { CellState } from './cell-state.js';
import type { PendingReplica } from './contract.js';
import type { GangMember, GangView } from './gangs.js';

/** Gangs and their members as a picture of the cell shows them. */

/** Undefined for one that is gone. `sinceMs`: since when the scheduler has seen it in this state. */
export function gangView(
  cell: CellState,
  tenant: string,
  name: string,
  sinceMs: number,
): GangView | undefined {
  const { stored, status } = cell.gang(tenant, name) ?? {};
  if (stored === undefined) return undefined;
  const workload = cell.workload(tenant, stored.spec.workload).stored?.spec;
  const priority = cell.priorityClasses.get(workload?.priorityClassName ?? 'default');
  return {
    tenant,
    name,
    state: status?.state ?? 'Waiting',
    holds: status?.holds ?? 0,
    attempts: status?.attempts ?? 0,
    minAvailable: stored.spec.minAvailable,
    priority: priority?.value ?? 0,
    rules: workload?.placement ?? {},
    sinceMs,
  };
}

/** A member that waits or holds. Those that are bound have no part in what their gang does next. */
export function gangMember(cell: CellState, replica: PendingReplica): GangMember | undefined {
  const status = cell.replica(replica.tenant, replica.name)?.status;
  if (status === undefined) return undefined;
  const { stage } = status;
  const { stored, status: held } = cell.reservation(replica.tenant, status.hold ?? '') ?? {};
  const isOnItsWay = stage === 'Queued' && cell.isAssumed(replica);
  if (status.hold === undefined || stored === undefined || held?.state !== 'Held')
    return { replica, stage, isOnItsWay };
  const { node } = stored.spec;
  const row = cell.nodes.rowOf(node);
  const nodeEpoch = row === undefined ? undefined : cell.nodes.epochs[row];
  const isHonoured = row !== undefined && nodeEpoch !== undefined && cell.nodes.takesWork(row);
  return {
    replica,
    stage,
    isOnItsWay,
    hold: {
      reservation: status.hold,
      uid: stored.metadata.uid,
      placement: { replica, node, nodeEpoch: nodeEpoch ?? { cell: 0, number: 0 } },
      state: !isHonoured ? 'Broken' : (held.awaits ?? []).length > 0 ? 'Awaits' : 'Ready',
    },
  };
}
