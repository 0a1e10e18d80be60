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
  /** Counts a plan that is on its way: its replica as placed, and each victim as spoken for. */
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
 * victims leave, limits and guarantees are used up. One planner is for one picture of the cell.
 *
 * Every victim ranks strictly below its preemptor, as the authority will see the two, so what one plan takes another
 * cannot take back: a cell with constant demand comes to rest.
 */
export class PreemptionPlanner {
  private readonly changed = new Map<string, OccupiedNode>();
  private readonly accounts = new Map<string, TenantAccount>();
  private readonly disrupted = new Map<string, number>();
  /** Of what comes free on a node, what others that were told to wait for it will take. */
  private readonly awaited = new Map<string, Amount>();

  constructor(private readonly cell: PreemptionCell) {}

  /** For replicas of one class that no node takes as it is. */
  plan(classKey: ClassKey, replicas: readonly PendingReplica[]): PreemptionResult {
    const wanted = this.cell.classOf(classKey);
    const plans: PreemptionPlan[] = [];
    const comesFree: { replica: PendingReplica; node: string }[] = [];
    const without: PendingReplica[] = [];
    let candidates: Candidate[] | undefined;
    let rank: number | undefined;
    for (const replica of replicas) {
      const preemptor = wanted === undefined ? undefined : this.preemptor(wanted);
      // One that holds already has its room, or awaits it.
      if (replica.hold !== undefined || wanted === undefined || preemptor === undefined) {
        without.push(replica);
        continue;
      }
      if (candidates === undefined || rank !== preemptor.rank) {
        rank = preemptor.rank;
        candidates = this.candidates(classKey, preemptor);
      }
      const best = this.best(classKey, preemptor, candidates);
      const soon =
        best === undefined || best.victims.harm.evictions > 0
          ? this.findComing(classKey, preemptor)
          : undefined;
      if (soon !== undefined) comesFree.push({ replica, node: soon });
      else if (best === undefined) without.push(replica);
      else {
        const plan = planOf(replica, best.node, best.victims);
        plans.push(plan);
        this.take(wanted, preemptor, plan, best.node, best.victims);
        candidates = this.moved(candidates, best.node.name, preemptor);
      }
    }
    return { plans, comesFree, without };
  }

  /** The class as its next replica will be charged; undefined if it may not preempt, or its tenant may have no more. */
  private preemptor(wanted: PreemptingClass): Preemptor | undefined {
    const { tenant, workload, amount, ports, priority } = wanted;
    const account = this.accountOf(tenant);
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

  private accountOf(tenant: string): TenantAccount {
    return this.accounts.get(tenant) ?? this.cell.accountOf(tenant);
  }

  private *nodes(classKey: ClassKey): Generator<OccupiedNode> {
    for (const node of this.cell.nodesFor(classKey)) yield this.changed.get(node.name) ?? node;
  }

  private candidates(classKey: ClassKey, preemptor: Preemptor): Candidate[] {
    const candidates: Candidate[] = [];
    for (const node of this.nodes(classKey)) {
      const harm = leastHarm(node, preemptor);
      if (harm !== undefined) candidates.push({ node, ...harm, tie: this.cell.tieOf(node.name) });
    }
    return candidates.toSorted(compareCandidates);
  }

  /** The same list after one node has changed. */
  private moved(candidates: readonly Candidate[], name: string, preemptor: Preemptor): Candidate[] {
    const others = candidates.filter(({ node }) => node.name !== name);
    const node = this.changed.get(name);
    const harm = node === undefined ? undefined : leastHarm(node, preemptor);
    if (node === undefined || harm === undefined) return others;
    const candidate = { node, ...harm, tie: this.cell.tieOf(name) };
    const at = others.findIndex((other) => compareCandidates(candidate, other) < 0);
    return others.toSpliced(at === -1 ? others.length : at, 0, candidate);
  }

  private best(
    classKey: ClassKey,
    preemptor: Preemptor,
    candidates: readonly Candidate[],
  ): { readonly node: OccupiedNode; readonly victims: Victims } | undefined {
    const left = (workload: string): number =>
      this.cell.disruptionsLeft(workload) - (this.disrupted.get(workload) ?? 0);
    let best: { readonly node: OccupiedNode; readonly victims: Victims } | undefined;
    let searched = 0;
    for (const { node, rank, evictions } of candidates) {
      const { harm } = best?.victims ?? {};
      if (harm !== undefined && (rank - harm.rank || evictions - harm.evictions) > 0) break;
      if (searched === nodesSearchedMax) break;
      if (!this.cell.allows(classKey, node.name)) continue;
      const victims = chooseVictims(node, preemptor, left);
      if (victims === undefined) continue;
      searched += 1;
      if (harm === undefined || compareHarm(victims.harm, harm) < 0) best = { node, victims };
    }
    return best;
  }

  /** A node where it fits once all have ended that leave already, whoever they are, and holds have what they await. */
  private findComing(classKey: ClassKey, preemptor: Preemptor): string | undefined {
    for (const node of this.nodes(classKey)) {
      if (node.leaving.length === 0 || !this.cell.allows(classKey, node.name)) continue;
      const free = node.leaving.reduce(
        (sum, { amount, awaited = {} }) => addAmounts(sum, subtractAmounts(amount, awaited)),
        subtractAmounts(node.allocatable, node.used),
      );
      const spokenFor = this.awaited.get(node.name) ?? {};
      const comes = new Set(
        node.leaving.flatMap(({ awaited, replica }) => (awaited === undefined ? [replica.uid] : [])),
      );
      const arePortsFree = preemptor.ports.every((port) => {
        const owner = node.portOwners[port];
        return owner === undefined || comes.has(owner);
      });
      if (!arePortsFree || !isNothing(beyond(preemptor.amount, subtractAmounts(free, spokenFor)))) continue;
      this.awaited.set(node.name, addAmounts(spokenFor, preemptor.amount));
      return node.name;
    }
    return undefined;
  }

  /** The node as the authority leaves it when it has committed the plan, and what else the plan uses up. */
  private take(
    { tenant, amount }: PreemptingClass,
    preemptor: Preemptor,
    plan: PreemptionPlan,
    node: OccupiedNode,
    { evicted, leaving }: Victims,
  ): void {
    let open = least(missingOn(node, amount), amount);
    const used = addAmounts(node.used, subtractAmounts(amount, open));
    const spokenFor = [...leaving, ...evicted].map((occupant): SpokenFor => {
      const awaited = least(open, occupant.amount);
      open = subtractAmounts(open, awaited);
      return {
        occupant,
        awaited,
        isLimited: evicted.includes(occupant) && obeysLimit(occupant, preemptor),
      };
    });
    const chosen = new Map(
      spokenFor.map(({ occupant, awaited }) => [occupant, { ...occupant, awaited }] as const),
    );
    this.changed.set(node.name, {
      ...node,
      used,
      running: node.running.filter((occupant) => !chosen.has(occupant)),
      leaving: [...node.leaving, ...evicted].map((occupant) => chosen.get(occupant) ?? occupant),
    });
    for (const { occupant, isLimited } of spokenFor)
      if (isLimited) this.disrupted.set(occupant.workload, (this.disrupted.get(occupant.workload) ?? 0) + 1);
    const account = this.accountOf(tenant);
    this.accounts.set(tenant, {
      ...account,
      used: addAmounts(account.used, addAmounts(amount, { replicas: 1 })),
      borrowed: preemptor.isGuaranteed ? account.borrowed : addAmounts(account.borrowed, amount),
    });
    this.cell.assume(plan, spokenFor);
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
