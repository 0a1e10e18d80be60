import type { CheckName } from '../commit/checks.js';
import type { ControllerDefectName } from './controller-defects.js';
import type { Mutant } from './mutant.js';
import type { Trial } from './run-mutants.js';
import type { Scenario } from './scenario.js';
import { attestedNodes } from './scenarios/attested-nodes.js';
import { drainShort } from './scenarios/drain-short.js';
import { fence } from './scenarios/fence.js';
import { fenceChange } from './scenarios/fence-change.js';
import { fenceEdge } from './scenarios/fence-edge.js';
import { gangExpiry } from './scenarios/gang-expiry.js';
import { handover } from './scenarios/handover.js';
import { h11 } from './scenarios/lost-copy.js';
import { lostDirectory } from './scenarios/lost-directory.js';
import { newLeader } from './scenarios/new-leader.js';
import { nodeDeleted } from './scenarios/node-deleted.js';
import { seedsMissing } from './scenarios/parked/parked-scenarios.js';
import { preemption } from './scenarios/preemption.js';
import { strandedHold } from './scenarios/stranded-hold.js';
import { swarm } from './scenarios/swarm.js';
import { type TimedPromise, timedPromises } from './timed-promises.js';

// Where something is tried against most checks of the authority.
const meddled: readonly Scenario[] = [swarm, fence, preemption];

// Checks of what only one of them has, or another: rules of placement and gangs, epochs that are closed, victims, nodes that are
// deleted, fences that change, journals that are lost.
const onlyIn: readonly (readonly [Scenario, readonly CheckName[]])[] = [
  [
    swarm,
    [
      ...([
        'bind.region',
        'bind.zone',
        'bind.residency',
        'bind.tenancy',
        'bind.selector',
        'bind.daemon',
        'bind.hold.offer',
      ] as const),
      ...(['bind.taints', 'bind.antiAffinity', 'bind.antiAffinity.others', 'bind.spread'] as const),
      ...(['bind.pool', 'bind.gang', 'gang.holds', 'gang.count'] as const),
      ...(['gang.edge', 'gang.emptied'] as const),
    ],
  ],
  [gangExpiry, ['gang.expired']],
  [strandedHold, ['gang.committed']],
  [drainShort, ['evict.disruption', 'evict.last']],
  [h11, ['incarnate.lostCopy', 'bind.lostCopy']],
  [preemption, ['reserve.victim']],
  [nodeDeleted, ['bind.deleted']],
  [fenceChange, ['fence.lowered', 'fence.settled']],
  [fence, ['release.journal']],
  [lostDirectory, ['release.journalWindow']],
];

// Where there is what a controller would count wrongly.
const worldsOfDefect: Readonly<Record<ControllerDefectName, readonly Scenario[]>> = {
  'silence.fast': [newLeader],
  'silence.inheritedFast': [newLeader],
  'silence.beforeTerm': [newLeader],
  'silence.windowFast': [newLeader],
  'drain.oneTooMany': [drainShort],
  'drain.forgetsOwn': [drainShort],
  'drain.countsLost': [drainShort],
};

/** In which worlds a defect is tried, and what must be said of it. */
export function trialOf(mutant: Mutant): Trial {
  if (mutant.kind === 'wake') {
    const { scenario, seedAt } = seedsMissing(mutant.name);
    return { mutant, scenarios: [scenario], seedAt };
  }
  if (mutant.kind !== 'duration') return { mutant, scenarios: worldsOf(mutant) };
  const promise = timedPromises.find(({ mutants }) => mutants[mutant.name] !== undefined);
  if (promise === undefined) throw new Error(`no promise is broken by ${mutant.name}`);
  return durationTrial(mutant, promise);
}

/** A defect of a promise, tried where the duration ends, until the checker of this promise notices. */
export function durationTrial(mutant: Mutant, { scenario, mutants }: TimedPromise): Trial {
  const shows = mutants[mutant.name];
  // L3 and L5 are judged at the end of a run, and ended holds are deleted only then.
  const untilEnd = mutant.name.endsWith('.never') || mutant.name === 'hold.kept.short';
  return { mutant, scenarios: [scenario], untilEnd, ...(shows !== undefined && { shows }) };
}

// Where older epochs of an operation are tried. Epochs that somebody closes are tried where nodes are lost.
const closing: readonly Scenario[] = [attestedNodes, fence];
const refusing: readonly Scenario[] = [
  ...[gangExpiry, nodeDeleted, attestedNodes, handover, swarm, fence, fenceChange, lostDirectory],
];

function worldsOfEpoch(name: CheckName): readonly Scenario[] {
  if (!name.startsWith('epoch.')) return [];
  if (name.endsWith('.open')) return closing;
  return refusing.filter(({ mustRefuse = [] }) => mustRefuse.some((pair) => name === `epoch.${pair}`));
}

function worldsOf(mutant: Exclude<Mutant, { kind: 'duration' | 'wake' }>): readonly Scenario[] {
  switch (mutant.kind) {
    case 'check': {
      const epochs = worldsOfEpoch(mutant.name);
      if (epochs.length > 0) return epochs;
      const [world] = onlyIn.find(([, names]) => names.includes(mutant.name)) ?? [];
      return world === undefined ? meddled : [world];
    }
    case 'fenceTerm':
      return [fenceEdge];
    case 'controller':
      return worldsOfDefect[mutant.name];
    case 'watch':
      return [drainShort];
  }
}
