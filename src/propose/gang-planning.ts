import type { CellState } from './cell-state.js';
import type { PendingReplica, TurnMoment } from './contract.js';
import { type GangPause, gangPlaces } from './gang-places.js';
import type { GangPlan } from './gangs.js';
import type { PreemptionPlanner } from './preemption.js';
import { propose, type ProposeOptions } from './propose.js';

export interface GangPlanningParts {
  readonly cell: CellState;
  readonly planner: PreemptionPlanner;
  readonly options: ProposeOptions;
}

/**
 * Places for a gang on a picture of the cell, looked for in stretches: very many members, or those who would make room for
 * them, take longer than others may be kept waiting.
 *
 * Invariant: what it has found is assumed in the cell, like all that is proposed, until it has ended without an answer
 * `Places`, or is given up.
 */
export class GangPlanning {
  readonly #search: Generator<GangPause, GangPlan>;
  #at: TurnMoment = { version: '', ageMs: 0, mayGoOn: () => true };

  constructor(
    private readonly parts: GangPlanningParts,
    readonly replicas: readonly PendingReplica[],
    private readonly atLeast: number,
  ) {
    const { cell, planner, options } = parts;
    this.#search = gangPlaces(replicas, atLeast, {
      place: (turn) => propose(cell, turn, { ...options, snapshotAgeMs: this.#at.ageMs }),
      preempt: (classKey, members) => planner.plan(classKey, members, this.#at.mayGoOn),
      undo: (replica) => cell.unassume(replica),
    });
  }

  isFor(replicas: readonly PendingReplica[], atLeast: number): boolean {
    return (
      atLeast === this.atLeast &&
      replicas.length === this.replicas.length &&
      replicas.every(({ uid }, at) => uid === this.replicas[at]?.uid)
    );
  }

  /**
   * Undefined where time is over before there is an answer, or the cell has to be looked at first for who would make room.
   * Each call gets somewhere, however little time there is.
   */
  goOn(at: TurnMoment): GangPlan | undefined {
    this.#at = at;
    this.parts.cell.version = at.version;
    do {
      const step = this.#search.next();
      if (step.done === true) return step.value;
      if (step.value === 'Look') return undefined;
    } while (at.mayGoOn());
    return undefined;
  }

  giveUp(): void {
    this.#search.return({ kind: 'NotReady' });
  }
}
