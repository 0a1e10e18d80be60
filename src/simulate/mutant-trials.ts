import type { CheckName } from '../commit/checks.js';
import type { ControllerDefectName } from './controller-defects.js';
import type { Mutant } from './mutant.js';
import type { Trial } from './run-mutants.js';
import type { Scenario } from './scenario.js';
import { drainShort } from './scenarios/drain-short.js';
import { fence } from './scenarios/fence.js';
import { fenceChange } from './scenarios/fence-change.js';
import { fenceEdge } from './scenarios/fence-edge.js';
import { gangExpiry } from './scenarios/gang-expiry.js';
import { h11 } from './scenarios/lost-copy.js';
import { lostDirectory } from './scenarios/lost-directory.js';
import { newLeader } from './scenarios/new-leader.js';
import { nodeDeleted } from './scenarios/node-deleted.js';
import { seedsMissing } from './scenarios/parked/parked-scenarios.js';
import { preemption } from './scenarios/preemption.js';
import { swarm } from './scenarios/swarm.js';

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
      ...(['bind.pool', 'bind.gang', 'gang.holds', 'gang.count', 'gang.committed'] as const),
      ...(['gang.edge', 'gang.emptied'] as const),
    ],
  ],
  [fence, ['epoch.nodeState']],
  [gangExpiry, ['gang.expired']],
  [drainShort, ['evict.disruption', 'evict.last']],
  [h11, ['incarnate.lostCopy', 'bind.lostCopy']],
  [preemption, ['reserve.victim']],
  [nodeDeleted, ['bind.deleted']],
  [fenceChange, ['fence.lowered', 'fence.settled']],
  [lostDirectory, ['release.journal', 'release.journalWindow']],
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

/** In which worlds a defect is tried. */
export function trialOf(mutant: Mutant): Trial {
  if (mutant.kind !== 'wake') return { mutant, scenarios: worldsOf(mutant) };
  const { scenario, seedAt } = seedsMissing(mutant.name);
  return { mutant, scenarios: [scenario], seedAt };
}

function worldsOf(mutant: Exclude<Mutant, { readonly kind: 'wake' }>): readonly Scenario[] {
  switch (mutant.kind) {
    case 'check': {
      const [world] = onlyIn.find(([, names]) => names.includes(mutant.name)) ?? [];
      return world === undefined ? meddled : [world];
    }
    case 'fenceTerm':
      return [fenceEdge];
    case 'controller':
      return worldsOfDefect[mutant.name];
  }
}
