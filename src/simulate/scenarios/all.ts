import type { Scenario } from '../scenario.js';
import { bindDuringNodeFailureScenarios } from './bind-during-node-failure.js';
import { agents } from './agents.js';
import { attestedNodes } from './attested-nodes.js';
import { calm } from './calm.js';
import { drainRace } from './drain-race.js';
import { drainShort } from './drain-short.js';
import { failureModes } from './failure-modes.js';
import { durations } from './durations.js';
import { fence } from './fence.js';
import { fenceChange } from './fence-change.js';
import { fenceEdge } from './fence-edge.js';
import { gangExpiry } from './gang-expiry.js';
import { h11 } from './lost-copy.js';
import { handover } from './handover.js';
import { lostDirectory } from './lost-directory.js';
import { lostHistory } from './lost-history.js';
import { lostNodes } from './lost-nodes.js';
import { matrix } from './matrix.js';
import { newLeader } from './new-leader.js';
import { nodeDeleted } from './node-deleted.js';
import { nodeSessions } from './node-sessions.js';
import { orphanReservationScenarios } from './orphan-reservation.js';
import { parkedScenarios } from './parked/parked-scenarios.js';
import { partialRecoveryScenarios } from './partial-recovery.js';
import { gangPreemption, preemption } from './preemption.js';
import { scheduling } from './scheduling.js';
import { strandedHold } from './stranded-hold.js';
import { stuckOnNode } from './stuck-on-node.js';
import { swarm } from './swarm.js';
import { zoneLost } from './zone-lost.js';

/** Every scenario of `berth simulate`, in the order they are run. */
export const scenarios: readonly Scenario[] = [
  ...bindDuringNodeFailureScenarios,
  ...partialRecoveryScenarios,
  ...orphanReservationScenarios,
  ...failureModes,
  drainRace,
  drainShort,
  nodeDeleted,
  attestedNodes,
  ...matrix,
  ...scheduling,
  ...parkedScenarios,
  calm,
  ...lostNodes,
  h11,
  newLeader,
  handover,
  zoneLost,
  durations,
  stuckOnNode,
  strandedHold,
  preemption,
  gangPreemption,
  gangExpiry,
  fence,
  fenceEdge,
  fenceChange,
  lostDirectory,
  lostHistory,
  nodeSessions,
  agents,
  swarm,
];
