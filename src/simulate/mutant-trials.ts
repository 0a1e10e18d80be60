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
  [gangExpiry, ['gang.expired']],
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

/** In which worlds a defect is tried. */
export const trialOf = (mutant: Mutant): Trial => ({ mutant, scenarios: worldsOf(mutant) });

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

function worldsOf(mutant: Mutant): readonly Scenario[] {
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
  }
}
