import { addAmounts, type Amount, subtractAmounts } from '../model/amount.js';
import { beyond, isNothing, least } from '../model/amount-parts.js';
import type { PriorityClassSpec } from '../model/kinds/priority-class.js';
import type { TenantSpec } from '../model/kinds/tenant.js';
import { rankOf, refusedByGrant } from '../model/asked.js';
import { rankWeight } from '../model/rank.js';
import type { TenantAccount } from '../model/records.js';
import type { ClassKey, PendingReplica, PreemptionPlan } from './contract.js';
import { obeysLimit, type Occupant, type OccupiedNode, type Preemptor } from './occupants.js';
import { chooseVictims, compareHarm, leastHarm, missingOn, type Victims } from './victims.js';

/** What planning needs to know of a class. */
export interface PreemptingClass {
  readonly tenant: string;
  readonly workload: string;
  readonly amount: Amount;
  /** Ports that it asks for by number. */
  readonly ports: readonly number[];
  readonly priority: Pick<PriorityClassSpec, 'value' | 'preemption'>;
  /** Each replica goes to the node that its slot is named after, or nowhere. */
  readonly isDaemon: boolean;
}

/** The cell as preemption looks at it, with what is on its way. */
export interface PreemptionCell {
  classOf(classKey: ClassKey): PreemptingClass | undefined;
  /** Nodes that every filter lets the class onto, but for room: resources, devices and ports. */
  nodesFor(classKey: ClassKey): Iterable<OccupiedNode>;
  /**
   * Whether neighbours let one more of the class onto it, what was assumed counted. Victims count as long as they have
   * not ended: that is how the authority sees it when it holds.
   */
  allows(classKey: ClassKey, node: string): boolean;
  /** How many more replicas of `TENANT/WORKLOAD` may be disrupted now. */
  disruptionsLeft(workload: string): number;
  accountOf(tenant: string): TenantAccount;
  tenantSpec(tenant: string): TenantSpec | undefined;
  /**
   * Counts a plan that is on its way, in all that is asked afterwards: its replica as placed and charged, each victim as
   * spoken for.
   */
  assume(plan: PreemptionPlan, victims: readonly SpokenFor[]): void;
  /** Where all else is equal the smallest wins; the same for the same node as long as the seed is. */
  tieOf(node: string): number;
}

/** A victim, and what of it goes to the hold it makes room for. */
export interface SpokenFor {
  readonly occupant: Occupant;
  readonly awaited: Amount;
  /** Its eviction counts against the limit of its workload. */
  readonly isLimited: boolean;
}

export interface PreemptionResult {
  readonly plans: readonly PreemptionPlan[];
  /** Nobody is asked to leave for these: who leaves already makes room for them on that node. */
  readonly comesFree: readonly { readonly replica: PendingReplica; readonly node: string }[];
  /** For these no room can be made. */
  readonly without: readonly PendingReplica[];
}

// So many nodes are searched for the best victims; others that promise no less harm are passed over.
const nodesSearchedMax = 64;

interface Candidate {
  readonly node: OccupiedNode;
  readonly rank: number;
  readonly evictions: number;
  readonly tie: number;
}

const compareCandidates = (a: Candidate, b: Candidate): number =>
  a.rank - b.rank || a.evictions - b.evictions || a.tie - b.tie;

/**
 * Plans preemptions one after another, each on the cell as those before it leave it: what they hold is used, their
 * victims leave, limits and guarantees are used up.
 *
 * Every victim ranks strictly below its preemptor, as the authority will see the two, so what one plan takes another
 * cannot take back: a cell with constant demand comes to rest.
 */
export class PreemptionPlanner {
  constructor(private readonly cell: PreemptionCell) {}

  /** For replicas of one class that no node takes as it is. */
  plan(classKey: ClassKey, replicas: readonly PendingReplica[]): PreemptionResult {
    const plans: PreemptionPlan[] = [];
    const comesFree: { replica: PendingReplica; node: string }[] = [];
    const without: PendingReplica[] = [];
    const wanted = this.cell.classOf(classKey);
    let room: RoomForClass | undefined;
    let isHopeless = wanted === undefined;
    for (const replica of replicas) {
      const preemptor = wanted === undefined || isHopeless ? undefined : this.preemptor(wanted);
      // One that holds already has its room, or awaits it.
      if (replica.hold !== undefined || preemptor === undefined) {
        without.push(replica);
        continue;
      }
      if (room?.preemptor.rank !== preemptor.rank) room = new RoomForClass(this.cell, classKey, preemptor);
      const only = wanted?.isDaemon === true ? replica.slot : undefined;
      const best = room.best(only);
      const isHarmless = best !== undefined && best.victims.harm.evictions === 0;
      const coming = isHarmless ? undefined : room.takeComing(only);
      if (coming !== undefined) comesFree.push({ replica, node: coming });
      else if (best === undefined) {
        // Nothing has changed since, and none of the rest ranks higher.
        isHopeless = only === undefined;
        without.push(replica);
      } else {
        const plan = planOf(replica, best.node, best.victims);
        plans.push(plan);
        this.cell.assume(plan, room.take(best.node, best.victims));
      }
    }
    return { plans, comesFree, without };
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

/** The nodes for one class at one rank: looked at once, and after each plan only the node that it changed. */
class RoomForClass {
  private candidates: readonly Candidate[];
  private readonly nodes = new Map<string, OccupiedNode>();
  /** Of what comes free on a node, what those that were told to wait for it will take. */
  private readonly promised = new Map<string, Amount>();

  constructor(
    private readonly cell: PreemptionCell,
    private readonly classKey: ClassKey,
    readonly preemptor: Preemptor,
  ) {
    const candidates: Candidate[] = [];
    for (const node of cell.nodesFor(classKey)) {
      if (node.leaving.length > 0) this.nodes.set(node.name, node);
      const candidate = this.candidate(node);
      if (candidate !== undefined) candidates.push(candidate);
    }
    this.candidates = candidates.toSorted(compareCandidates);
  }

  best(only: string | undefined): { readonly node: OccupiedNode; readonly victims: Victims } | undefined {
    let best: { readonly node: OccupiedNode; readonly victims: Victims } | undefined;
    let searched = 0;
    for (const { node, rank, evictions } of this.candidates) {
      const { harm } = best?.victims ?? {};
      if (harm !== undefined && (rank - harm.rank || evictions - harm.evictions) > 0) break;
      if (searched === nodesSearchedMax) break;
      if (only !== undefined && node.name !== only) continue;
      if (!this.cell.allows(this.classKey, node.name)) continue;
      const victims = chooseVictims(node, this.preemptor, (workload) => this.cell.disruptionsLeft(workload));
      if (victims === undefined) continue;
      searched += 1;
      if (harm === undefined || compareHarm(victims.harm, harm) < 0) best = { node, victims };
    }
    return best;
  }

  /** A node where it fits once all have ended that leave already, whoever they are, and holds have what they await. */
  takeComing(only: string | undefined): string | undefined {
    const { amount, ports } = this.preemptor;
    for (const node of this.nodes.values()) {
      if (only !== undefined && node.name !== only) continue;
      const free = node.leaving.reduce(
        (sum, one) => addAmounts(sum, subtractAmounts(one.amount, one.awaited ?? {})),
        subtractAmounts(node.allocatable, node.used),
      );
      const promised = this.promised.get(node.name) ?? {};
      if (!isNothing(beyond(amount, subtractAmounts(free, promised)))) continue;
      const comes = new Set(
        node.leaving.flatMap(({ awaited, replica }) => (awaited === undefined ? [replica.uid] : [])),
      );
      const isPortFree = (port: number): boolean => {
        const owner = node.portOwners[port];
        return owner === undefined || comes.has(owner);
      };
      if (!ports.every(isPortFree) || !this.cell.allows(this.classKey, node.name)) continue;
      this.promised.set(node.name, addAmounts(promised, amount));
      return node.name;
    }
    return undefined;
  }

  /** The node as the authority leaves it when it has committed the plan. */
  take(node: OccupiedNode, { evicted, leaving }: Victims): readonly SpokenFor[] {
    const { preemptor } = this;
    let open = least(missingOn(node, preemptor.amount), preemptor.amount);
    const used = addAmounts(node.used, subtractAmounts(preemptor.amount, open));
    const spokenFor = [...leaving, ...evicted].map((occupant): SpokenFor => {
      const awaited = least(open, occupant.amount);
      open = subtractAmounts(open, awaited);
      const isLimited = evicted.includes(occupant) && obeysLimit(occupant, preemptor);
      return { occupant, awaited, isLimited };
    });
    const chosen = new Map(
      spokenFor.map(({ occupant, awaited }) => [occupant, { ...occupant, awaited }] as const),
    );
    this.change({
      ...node,
      used,
      running: node.running.filter((occupant) => !chosen.has(occupant)),
      leaving: [...node.leaving, ...evicted].map((occupant) => chosen.get(occupant) ?? occupant),
    });
    return spokenFor;
  }

  private change(node: OccupiedNode): void {
    this.nodes.set(node.name, node);
    const others = this.candidates.filter((other) => other.node.name !== node.name);
    const candidate = this.candidate(node);
    const at =
      candidate === undefined ? 0 : others.findIndex((other) => compareCandidates(candidate, other) < 0);
    this.candidates =
      candidate === undefined ? others : others.toSpliced(at === -1 ? others.length : at, 0, candidate);
  }

  private candidate(node: OccupiedNode): Candidate | undefined {
    const harm = leastHarm(node, this.preemptor);
    return harm === undefined ? undefined : { node, ...harm, tie: this.cell.tieOf(node.name) };
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
