import type { Workload } from '../../model/kinds/workload.js';
import { isTerminal } from '../../model/stages.js';
import { CellView } from './cell-view.js';
import type { CellState } from './checker.js';
import { type LivenessFacts, type LivenessResult, resultOf } from './liveness-facts.js';

/**
 * [L2] No work is dropped: every workload has a replica for each slot it wants, and what a bind was rejected for
 * is placed, has ended, gave way to a later incarnation, or is Queued and says why.
 */
export function nothingDropped(state: CellState, { rejectedBinds }: LivenessFacts): LivenessResult {
  const cell = new CellView(state);
  const messages: string[] = [];
  let checked = rejectedBinds.length;
  for (const workload of cell.objects('Workload')) {
    const wanted = slotsWanted(cell, workload);
    if (wanted === undefined) continue;
    checked += 1;
    const there = liveSlots(cell, workload);
    if (there.size < wanted)
      messages.push(
        `/o/Workload/${workload.metadata.namespace}/${workload.metadata.name} wants ${wanted} slots; replicas that have not ended are in ${[...there].join(', ') || 'none'}`,
      );
  }
  for (const { tenant, name, uid } of rejectedBinds) {
    const replica = cell.object('Replica', tenant, name);
    const status = replica?.status;
    if (replica === undefined || status?.stage !== 'Queued' || replica.metadata.uid !== uid) continue;
    const isExplained =
      (status.message ?? '') !== '' ||
      (status.conditions ?? []).some(
        ({ type, status: is, reason }) => type === 'SchedulingRetrying' && is === 'True' && reason !== '',
      );
    if (!isExplained)
      messages.push(`/s/Replica/${tenant}/${name} was rejected, is Queued again and does not say why`);
  }
  return resultOf('L2', state, checked, messages);
}

function liveSlots(cell: CellView, { metadata }: Workload): ReadonlySet<string> {
  const slots = new Set<string>();
  for (const { spec, status } of cell.objects('Replica', metadata.namespace ?? '', metadata.name))
    if (spec.workload === metadata.name && status !== undefined && !isTerminal(status.stage))
      slots.add(spec.slot);
  return slots;
}

/** How many slots must have a replica that has not ended; undefined where nothing can be said. */
function slotsWanted(cell: CellView, workload: Workload): number | undefined {
  const { metadata, spec, status } = workload;
  if (metadata.deletionTimestamp !== undefined || spec.suspend === true) return undefined;
  if (spec.type === 'Daemon' || spec.autoscale !== undefined) return status?.desired;
  const replicas = spec.replicas ?? 1;
  if (spec.type !== 'Batch') return replicas;
  const hasFailed = (status?.conditions ?? []).some(
    ({ type, status: is }) => type === 'Failed' && is === 'True',
  );
  const isOver = status?.batch?.finishedAt !== undefined;
  if (hasFailed || isOver || spec.batch?.schedule !== undefined) return undefined;
  const done = new Set<string>();
  for (const replica of cell.objects('Replica', metadata.namespace ?? '', metadata.name))
    if (replica.spec.workload === metadata.name && replica.status?.stage === 'Succeeded')
      done.add(replica.spec.slot);
  const succeeded = Math.max(done.size, status?.batch?.succeeded ?? 0);
  return Math.max(0, Math.min(replicas, (spec.batch?.completions ?? replicas) - succeeded));
}
