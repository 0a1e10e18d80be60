import type { ReplicaRef } from '../model/ports.js';
import { plus } from '../model/plus.js';
import type { Policy } from '../model/policy.js';
import { CellPreemption } from './cell-preemption.js';
import { CellState } from './cell-state.js';
import type { ReplicaState } from './replica-states.js';
import type { NodeAgeMs, PendingReplica, Turn, TurnMoment, TurnResult, Wait } from './contract.js';
import { gangMember, gangView } from './cell-gangs.js';
import { GangPlanning } from './gang-planning.js';
import type { GangMember, GangView } from './gangs.js';
import type { Plugin } from './plugin.js';
import { PreemptionPlanner } from './preemption.js';
import { propose } from './propose.js';
import type { Easing, ParkReason } from './queue/cures.js';
import { RankCache } from './rank-cache.js';
import { withRoomMade } from './with-room-made.js';

export interface CellCoreOptions {
  readonly policy: Policy;
  readonly seed: number;
  readonly ages: NodeAgeMs;
  readonly plugins: readonly Plugin[];
}

const roomReasons: ReadonlySet<ParkReason> = new Set<ParkReason>(['NodeFull', 'DeviceTaken', 'PortTaken']);

/** The pure parts of the scheduler over one picture of the cell: place what fits, make room for what may preempt. */
export class CellCore {
  readonly cell = new CellState();
  readonly #preemption: CellPreemption;
  readonly #planner: PreemptionPlanner;
  readonly #ranks = new RankCache();

  constructor(private readonly options: CellCoreOptions) {
    this.#preemption = new CellPreemption(this.cell, options);
    this.#planner = new PreemptionPlanner(this.#preemption);
  }

  gangView(tenant: string, name: string, sinceMs: number): GangView | undefined {
    return gangView(this.cell, tenant, name, sinceMs);
  }

  get reservingGangs(): ReadonlySet<string> {
    return this.cell.reservingGangs;
  }

  gangMember(replica: PendingReplica): GangMember | undefined {
    return gangMember(this.cell, replica);
  }

  planGang(replicas: readonly PendingReplica[], atLeast: number): GangPlanning {
    const options = plus(this.options, { ranks: this.#ranks });
    return new GangPlanning({ cell: this.cell, planner: this.#planner, options }, replicas, atLeast);
  }

  apply(key: string, value: unknown): ReplicaState | undefined {
    return this.cell.apply(key, value);
  }

  replica(tenant: string, name: string): ReplicaState | undefined {
    return this.cell.replica(tenant, name);
  }

  get isLooking(): boolean {
    return this.#preemption.isLooking;
  }

  look(): readonly ParkReason[] {
    return this.#preemption.look() ? [...roomReasons] : [];
  }

  get hasEasings(): boolean {
    return this.cell.hasEasings;
  }

  takeEasings(): readonly Easing[] {
    return this.cell.takeEasings();
  }

  unassume(replica: ReplicaRef): void {
    this.cell.unassume(replica);
  }

  /** What it returns is assumed. */
  propose(turn: Turn, at: TurnMoment): TurnResult {
    this.cell.version = at.version;
    const result = propose(
      this.cell,
      turn,
      plus(this.options, { snapshotAgeMs: at.ageMs, ranks: this.#ranks }),
    );
    const short = result.waits.filter(isShortOfRoom);
    if (short.length === 0) return result;
    const replicas = short.map(({ replica }) => replica);
    return withRoomMade(turn, result, this.#planner.plan(turn.classKey, replicas, at.mayGoOn));
  }
}

const isShortOfRoom = ({ reason, reasons }: Wait): boolean =>
  roomReasons.has(reason) || reasons.some((one) => roomReasons.has(one));
