import { GangDriver } from './gang-driver.js';
import { HeldReplicas } from './held-replicas.js';
import { allCures, type Cures } from './queue/cures.js';

/** The parts of a scheduling term that wake waiting replicas. Data, so that a world can be made in which one forgets something. */
export interface TermShape {
  readonly cures: Cures;
  readonly Gangs: typeof GangDriver;
  readonly Held: typeof HeldReplicas;
}

export const wholeTerm: TermShape = { cures: allCures, Gangs: GangDriver, Held: HeldReplicas };
