import { type Amount, eachResource } from '../../model/amount.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { NodeAccount, SlotRecord, TenantAccount, WorkloadAccount } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { CellView, slotOf } from './cell-view.js';
import { liveCharges } from './charges.js';
import type { CellState } from './checker.js';
import { type LivenessResult, resultOf } from './liveness-facts.js';

const nameOf = ({ kind, metadata }: Replica | Reservation): string =>
  `/s/${kind}/${metadata.namespace}/${metadata.name}`;

/** A Held hold whose owner is gone or has ended. */
function isForsaken(cell: CellView, { metadata, spec, status }: Reservation): boolean {
  if (status?.state !== 'Held') return false;
  const owner = cell.object('Replica', metadata.namespace, spec.owner.name);
  return (
    owner?.metadata.uid !== spec.owner.uid || owner.status === undefined || isTerminal(owner.status.stage)
  );
}

/** [L4] Whoever restarted went on from durable state: no operation is left half done. */
export function nothingHalfDone(state: CellState): LivenessResult {
  const cell = new CellView(state);
  const messages: string[] = [];
  let checked = 0;
  for (const hold of cell.objects('Reservation')) {
    checked += 1;
    if (isForsaken(cell, hold)) messages.push(`${nameOf(hold)} is Held; its owner is not live`);
  }
  for (const replica of cell.objects('Replica')) {
    checked += 1;
    const stage = replica.status?.stage;
    if (stage === undefined || stage === 'Releasing' || stage === 'Scheduled')
      messages.push(`${nameOf(replica)} was left ${stage ?? 'without a status'}`);
  }
  return resultOf('L4', state, checked, messages);
}

/** [L7] What lost its owner is gone: no hold, charge, slot record, replica or record of a node is left without one. */
export function nothingOrphaned(state: CellState): LivenessResult {
  const cell = new CellView(state);
  const messages: string[] = [];
  let checked = 0;
  for (const hold of cell.objects('Reservation')) {
    checked += 1;
    if (isForsaken(cell, hold))
      messages.push(`${nameOf(hold)} is Held; its owner ${hold.spec.owner.name} is gone`);
  }
  for (const replica of cell.objects('Replica')) {
    checked += 1;
    const { metadata, spec } = replica;
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Workload')?.uid;
    const workload = cell.object('Workload', metadata.namespace, spec.workload);
    if (workload === undefined || (owner !== undefined && workload.metadata.uid !== owner))
      messages.push(`${nameOf(replica)}: its workload ${spec.workload} (${owner ?? 'no uid'}) is gone`);
  }
  for (const [key, value] of state.under('/t/')) {
    checked += 1;
    const slot = slotOf(key);
    const { replica, replicaUid } = value as SlotRecord;
    const there = cell.object('Replica', slot?.tenant, replica)?.metadata.uid;
    if (there !== replicaUid) messages.push(`${key} names ${replica} (${replicaUid}), which is gone`);
    if (slot !== undefined && cell.object('Workload', slot.tenant, slot.workload) === undefined)
      messages.push(`${key}: its workload is gone`);
  }
  const charged = { node: new Set<string>(), tenant: new Set<string>(), workload: new Set<string>() };
  for (const { key, charge } of liveCharges(state)) {
    checked += 1;
    charged.node.add(charge.node);
    charged.tenant.add(charge.tenant);
    charged.workload.add(`${charge.tenant}/${charge.workload ?? ''}`);
    if (cell.object('Node', undefined, charge.node) === undefined)
      messages.push(`${key} is charged to node ${charge.node}, which is gone`);
  }
  for (const sort of ['node', 'tenant', 'workload'] as const)
    for (const [key, value] of state.under(`/a/${sort}/`))
      if (!charged[sort].has(key.slice(`/a/${sort}/`.length)) && isInUse(value))
        messages.push(`${key} says that something is in use; nothing is charged`);
  for (const prefix of ['/a/node/', '/e/', '/l/node-'])
    for (const [key] of state.under(prefix))
      if (cell.object('Node', undefined, key.slice(prefix.length)) === undefined)
        messages.push(`${key} is left of a node that is gone`);
  return resultOf('L7', state, checked, messages);
}

function isInUse(account: unknown): boolean {
  const {
    used = {},
    lost = {},
    regions = {},
  } = account as Partial<NodeAccount & TenantAccount & WorkloadAccount>;
  const isSome = (amount: Amount): boolean => [...eachResource(amount)].some(([, count]) => count !== 0);
  return isSome(used) || isSome(lost) || Object.values(regions).some((count) => count !== 0);
}
