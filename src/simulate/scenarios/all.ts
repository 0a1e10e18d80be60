import type { Scenario } from '../scenario.js';
import { drainRace } from './drain-race.js';
import { failureModes } from './failure-modes.js';
import { fence } from './fence.js';
import { matrix } from './matrix.js';
import { nodeSessions } from './node-sessions.js';
import { orphanReservationScenarios } from './orphan-reservation.js';
import { preemption } from './preemption.js';
import { scheduling } from './scheduling.js';
import { swarm } from './swarm.js';

/** Every scenario of `berth simulate`, in the order they are run. */
export const scenarios: readonly Scenario[] = [
  ...orphanReservationScenarios,
  ...failureModes,
  drainRace,
  ...matrix,
  ...scheduling,
  preemption,
  fence,
  nodeSessions,
  swarm,
];
