import { isTerminal, type Stage } from '../../model/stages.js';
import { CellView } from './cell-view.js';
import type { CellState } from './checker.js';
import { type LivenessResult, resultOf } from './liveness-facts.js';

/** A replica at one of these is not yet, or not known to be, what was asked for. */
const waitingStages: ReadonlySet<Stage> = new Set([
  'Admitted',
  'Queued',
  'Scheduled',
  'Bound',
  'Starting',
  'Unknown',
]);

/**
 * [L6] Whatever waits says why, currently: a workload with replicas that are not there, or take no traffic, has a
 * progress that names the boundary and the reason, for its present generation and its replicas' present stages.
 */
export function waitingExplained(state: CellState): LivenessResult {
  const cell = new CellView(state);
  const messages: string[] = [];
  let checked = 0;
  for (const { metadata, spec, status } of cell.objects('Workload')) {
    if (metadata.deletionTimestamp !== undefined) continue;
    checked += 1;
    const stages = stagesOf(cell, metadata.namespace ?? '', metadata.name);
    // A batch that runs is where it should be, a service when clients are sent to it.
    const isWaiting = (stage: Stage): boolean =>
      waitingStages.has(stage) || (stage === 'Ready' && spec.type !== 'Batch');
    const waiting = [...stages].filter(([stage]) => isWaiting(stage));
    const desired = (spec.type ?? 'Service') === 'Service' ? (spec.replicas ?? 1) : (status?.desired ?? 0);
    const there = [...stages.values()].reduce((sum, count) => sum + count, 0);
    const isShort = spec.type !== 'Batch' && spec.autoscale === undefined && there < desired;
    if (waiting.length === 0 && !isShort) continue;

    const at = `/s/Workload/${metadata.namespace}/${metadata.name}`;
    const progress = status?.progress;
    const isSaid = progress?.reason !== undefined && progress.reason !== '';
    // Nothing limits what its owner has suspended; the reason says that much.
    if (!isSaid || (progress.limitedBy === undefined && spec.suspend !== true))
      messages.push(
        `${at}: ${waiting.map(([stage, count]) => `${count} ${stage}`).join(', ') || 'replicas are missing'}, limited by ${progress?.limitedBy ?? 'nothing'} for ${progress?.reason ?? 'no reason'}`,
      );
    const serving = stages.get('Serving') ?? 0;
    const saysAvailable = status?.conditions?.some(
      ({ type, status: is }) => type === 'Available' && is === 'True',
    );
    if (saysAvailable === true && serving < desired)
      messages.push(`${at} says that it is available; ${serving} of ${desired} serve`);
    if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation)
      messages.push(`${at} is of generation ${status.observedGeneration}, not ${metadata.generation}`);
    for (const [stage, count] of stages)
      if (progress !== undefined && (progress.stages[stage] ?? 0) !== count)
        messages.push(`${at} says ${progress.stages[stage] ?? 0} ${stage}; there are ${count}`);
  }
  return resultOf('L6', state, checked, messages);
}

/** How many replicas of a workload are at each stage that is not terminal. */
function stagesOf(cell: CellView, tenant: string, workload: string): ReadonlyMap<Stage, number> {
  const stages = new Map<Stage, number>();
  for (const { spec, status } of cell.objects('Replica', tenant, workload)) {
    if (spec.workload !== workload || status === undefined || isTerminal(status.stage)) continue;
    stages.set(status.stage, (stages.get(status.stage) ?? 0) + 1);
  }
  return stages;
}
