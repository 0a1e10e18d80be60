import { addAmounts, type Amount } from '../model/amount.js';
import { rankOf, refusedByGrant } from '../model/asked.js';
import { rankWeight } from '../model/rank.js';
import type { ClassKey, PendingReplica, PreemptionPlan } from './contract.js';
import type { OccupiedNode, Preemptor } from './occupants.js';
import type { PreemptingClass, PreemptionCell } from './preemption-cell.js';
import type { ParkReason } from './queue/cures.js';
import { type Findings, type MayGoOn, nothingFound, RoomForClass } from './room-for-class.js';
import type { Victims } from './victims.js';

export interface PreemptionResult {
  readonly plans: readonly PreemptionPlan[];
  /** Nobody is asked to leave for these: who leaves already makes room for them on that node. */
  readonly comesFree: readonly { readonly replica: PendingReplica; readonly node: string }[];
  /** For these no room can be made. */
  readonly without: readonly PendingReplica[];
  /** These were not looked at, or not to the end: there was no time left. */
  readonly later: readonly PendingReplica[];
  /** Why nodes were passed over where room could be made: replicas without a plan wait for these reasons too. */
  readonly refusals: ReadonlySet<ParkReason>;
  /** False: who would make room is being looked at, and until then there is no plan. */
  readonly isReady: boolean;
}

// Classes that go on where they were cut short; one that is forgotten begins anew.
const cutShortMax = 8;

/**
 * Plans preemptions one after another, each on the cell as those before it leave it: what they hold is used, their
 * victims leave, limits and guarantees are used up.
 *
 * Every victim ranks strictly below its preemptor, as the authority will see the two, so what one plan takes another
 * cannot take back: a cell with constant demand comes to rest.
 */
export class PreemptionPlanner {
  /** By class, what was found out for it when it was cut short last. */
  readonly #cutShort = new Map<ClassKey, { readonly rank: number; readonly findings: Findings }>();

  constructor(private readonly cell: PreemptionCell) {}

  /** For replicas of one class that no node takes as it is. Each call gets somewhere, however little time there is. */
  plan(
    classKey: ClassKey,
    replicas: readonly PendingReplica[],
    mayGoOn: MayGoOn = () => true,
  ): PreemptionResult {
    const plans: PreemptionPlan[] = [];
    const comesFree: { replica: PendingReplica; node: string }[] = [];
    const without: PendingReplica[] = [];
    const all: ReadonlySet<ParkReason>[] = [];
    const wanted = this.cell.classOf(classKey);
    let room: RoomForClass | undefined;
    // What can make no room for itself anyhow does not have the cell looked at.
    const mayAsk = wanted !== undefined && this.preemptor(wanted) !== undefined;
    const isReady = !mayAsk || this.cell.isReady();
    let isHopeless = !mayAsk || !isReady;
    for (const [at, replica] of replicas.entries()) {
      const preemptor = wanted === undefined || isHopeless ? undefined : this.preemptor(wanted);
      if (preemptor === undefined) {
        without.push(replica);
        continue;
      }
      const isFirst = room === undefined;
      if (room?.preemptor.rank !== preemptor.rank) {
        const before = this.#cutShort.get(classKey);
        const findings = before?.rank === preemptor.rank ? before.findings : nothingFound();
        room = new RoomForClass(this.cell, classKey, preemptor, findings, mayGoOn);
        all.push(findings.refusals);
      }
      const only = wanted?.isDaemon === true ? replica.slot : undefined;
      const best = room.isComplete && (isFirst || mayGoOn()) ? room.best(only, mayGoOn) : 'CutShort';
      if (best === 'CutShort') {
        this.keep(classKey, room);
        return { plans, comesFree, without, later: replicas.slice(at), refusals: new Set(), isReady };
      }
      const isHarmless = best !== undefined && best.victims.harm.evictions === 0;
      const coming = isHarmless ? undefined : room.takeComing(only);
      if (coming !== undefined) comesFree.push({ replica, node: coming });
      else if (best === undefined) {
        // Nothing has changed since, and none of the rest ranks higher.
        isHopeless = only === undefined;
        without.push(replica);
      } else {
        const plan = planOf(replica, best.candidate.node, best.victims);
        plans.push(plan);
        this.cell.assume(plan, room.take(best));
      }
    }
    this.#cutShort.delete(classKey);
    return {
      plans,
      comesFree,
      without,
      later: [],
      refusals: new Set(all.flatMap((some) => [...some])),
      isReady,
    };
  }

  private keep(classKey: ClassKey, room: RoomForClass): void {
    this.#cutShort.delete(classKey);
    this.#cutShort.set(classKey, { rank: room.preemptor.rank, findings: room.findings() });
    const [oldest] = this.#cutShort.keys();
    if (this.#cutShort.size > cutShortMax && oldest !== undefined) this.#cutShort.delete(oldest);
  }

  /** The class as its next replica will be charged; undefined if it may not preempt, or its tenant may have no more. */
  private preemptor({ tenant, workload, amount, ports, priority }: PreemptingClass): Preemptor | undefined {
    const account = this.cell.accountOf(tenant);
    if (priority.preemption === 'Never') return undefined;
    if (refusedByGrant(account, addAmounts(amount, { replicas: 1 }), tenant) !== undefined) return undefined;
    const rank = rankOf(account, this.cell.tenantSpec(tenant), amount);
    return {
      workload: `${tenant}/${workload}`,
      rank: rankWeight(rank, priority.value),
      isGuaranteed: rank === 'Guaranteed',
      amount,
      ports,
    };
  }
}

const planOf = (replica: PendingReplica, node: OccupiedNode, victims: Victims): PreemptionPlan => {
  const all = [...victims.leaving, ...victims.evicted];
  return {
    replica,
    node: node.name,
    nodeEpoch: node.nodeEpoch,
    victims: all.map((victim) => victim.replica),
    frees: all.reduce((sum: Amount, { amount }) => addAmounts(sum, amount), {}),
  };
};
