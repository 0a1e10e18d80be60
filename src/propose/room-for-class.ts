import { addAmounts, type Amount, subtractAmounts } from '../model/amount.js';
import { beyond, isNothing, least } from '../model/amount-parts.js';
import { type Candidate, CandidateOrder } from './candidate-order.js';
import type { ClassKey } from './contract.js';
import { obeysLimit, type OccupiedNode, type Preemptor, withOccupants } from './occupants.js';
import type { PreemptionCell, SpokenFor } from './preemption-cell.js';
import type { ParkReason } from './queue/cures.js';
import { chooseVictims, compareHarm, type Harm, leastHarm, missingOn, type Victims } from './victims.js';

// So many nodes that promise the same are compared closely; what tells them apart is little.
const nodesComparedMax = 32;
// So many are looked at, however little time there is, and between two looks at the clock.
const nodesLookedAtMin = 256;
// So many are tried in vain, limits of workloads being in the way, before the replica waits for its next turn.
const nodesFailedMax = 500;

/** Victims on one of the nodes. */
export interface Choice {
  readonly candidate: Candidate;
  readonly victims: Victims;
}

/** A node where room cannot be made. */
interface InVain {
  readonly node: OccupiedNode;
  readonly rank?: undefined;
}

/** Of what comes free on a node, what those that were told to wait for it will take. */
interface Promised {
  readonly amount: Amount;
  /** What came free in all. Where that is another amount now, somebody has had some of it, and who waits asks again. */
  readonly of: Amount;
}

/**
 * What a planner found out before its time was over. True of a node as long as it is the same object: a change makes
 * another. A limit that has risen since is seen by who begins anew. Whoever goes on takes it over.
 */
export interface Findings {
  /** By the names of nodes. */
  readonly lookedAt: Map<string, Candidate | InVain>;
  readonly promised: Map<string, Promised>;
  /** A search that had found nothing yet had tried these: it goes on behind them, so it comes to an end. */
  readonly tried: ReadonlySet<string>;
  /** Why nodes were passed over where room could be made. */
  readonly refusals: Set<ParkReason>;
}

export const nothingFound = (): Findings => ({
  lookedAt: new Map(),
  promised: new Map(),
  tried: new Set(),
  refusals: new Set(),
});

/** Whether there is time left. In virtual time there always is: one seed gives one history. */
export type MayGoOn = () => boolean;

/** The nodes for one class at one rank: looked at once, in stretches, and after each plan only the node that it changed. */
export class RoomForClass {
  private readonly candidates = new CandidateOrder();
  /** Those on which somebody leaves. */
  private readonly leaving = new Map<string, OccupiedNode>();
  /** Those that a search was at before it was cut short. */
  private readonly tried: string[] = [];
  /** False where there was no time to look at all nodes: who goes on with what was found comes further. */
  readonly isComplete: boolean;

  constructor(
    private readonly cell: PreemptionCell,
    private readonly classKey: ClassKey,
    readonly preemptor: Preemptor,
    private readonly found: Findings,
    mayGoOn: MayGoOn,
  ) {
    const { lookedAt, tried } = found;
    let count = 0;
    let isCutShort = false;
    for (const node of cell.nodesFor(classKey)) {
      if (node.leaving.length > 0) this.leaving.set(node.name, node);
      if (tried.has(node.name)) continue;
      let known = lookedAt.get(node.name);
      if (known === undefined) {
        // Those that were looked at before and have changed do not count, or very many that change would be all there is.
        isCutShort = count > 0 && count % nodesLookedAtMin === 0 && !mayGoOn();
        if (isCutShort) break;
        count += 1;
      }
      if (known?.node !== node) {
        known = this.candidate(node) ?? { node };
        lookedAt.set(node.name, known);
      }
      if (known.rank !== undefined) this.candidates.add(known);
    }
    this.isComplete = !isCutShort;
  }

  /** For who goes on later with the same class at the same rank. */
  findings(): Findings {
    return { ...this.found, tried: new Set([...this.found.tried, ...this.tried]) };
  }

  /**
   * The least harmful way to make room on any of them, or on one. Where it may not go on it is the least harmful so far;
   * without any it is cut short. It always tries one node.
   */
  best(only: string | undefined, mayGoOn: MayGoOn): Choice | 'CutShort' | undefined {
    let best: Choice | undefined;
    let compared = 0;
    const inVain: { readonly candidate: Candidate; readonly mustBeat: Harm | undefined }[] = [];
    this.tried.length = 0;
    let isCutShort = false;
    for (const candidate of this.candidates.inOrder()) {
      const { node, rank, evictions } = candidate;
      const { harm } = best?.victims ?? {};
      if (harm !== undefined && (rank - harm.rank || evictions - harm.evictions) > 0) break;
      if (compared === nodesComparedMax || inVain.length === nodesFailedMax) break;
      if (only !== undefined && node.name !== only) continue;
      isCutShort = this.tried.length > 0 && !mayGoOn();
      if (isCutShort) break;
      this.tried.push(node.name);
      if (!this.isAllowed(node.name)) continue;
      const victims = this.victimsOf(candidate, harm);
      if (victims === undefined) inVain.push({ candidate, mustBeat: harm });
      else compared += 1;
      if (victims !== undefined && (harm === undefined || compareHarm(victims.harm, harm) < 0))
        best = { candidate, victims };
    }
    for (const { candidate, mustBeat } of inVain) this.promiseLess(candidate, mustBeat);
    if (best === undefined && isCutShort) return 'CutShort';
    // What was passed over is only passed over while nothing was found.
    this.tried.length = 0;
    return best;
  }

  /**
   * What was searched in vain is not searched again: it takes more than what it could not beat, or cannot be had. That
   * stays true: a plan on the node makes another candidate of it, and plans only ever use up limits.
   */
  private promiseLess(candidate: Candidate, mustBeat: Harm | undefined): void {
    const { node } = candidate;
    const promise = mustBeat && { node, rank: mustBeat.rank, evictions: mustBeat.evictions + 1 };
    this.replace(candidate, promise, node);
  }

  /** A node where it fits once all have ended that leave already, whoever they are, and holds have what they await. */
  takeComing(only: string | undefined): string | undefined {
    const { amount, ports } = this.preemptor;
    for (const node of this.leaving.values()) {
      if (only !== undefined && node.name !== only) continue;
      const free = comingOn(node);
      const before = this.found.promised.get(node.name);
      const promised = before !== undefined && isSame(before.of, free) ? before.amount : {};
      if (!isNothing(beyond(amount, subtractAmounts(free, promised)))) continue;
      const comes = new Set(
        node.leaving.flatMap(({ awaited, replica }) => (awaited === undefined ? [replica.uid] : [])),
      );
      const isPortFree = (port: number): boolean => {
        const owner = node.portOwners[port];
        return owner === undefined || comes.has(owner);
      };
      if (!ports.every(isPortFree) || !this.isAllowed(node.name)) continue;
      this.found.promised.set(node.name, { amount: addAmounts(promised, amount), of: free });
      return node.name;
    }
    return undefined;
  }

  /** The node as the authority leaves it when it has committed the plan. */
  take({ candidate, victims: { evicted, leaving } }: Choice): readonly SpokenFor[] {
    const { preemptor } = this;
    const { node } = candidate;
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
    const after = withOccupants(node, {
      used,
      running: node.running.filter((occupant) => !chosen.has(occupant)),
      leaving: [...node.leaving, ...evicted].map((occupant) => chosen.get(occupant) ?? occupant),
    });
    this.leaving.set(node.name, after);
    // A plan takes nothing of what was promised there: it stands, of what is left now.
    const promised = this.found.promised.get(node.name);
    if (promised !== undefined) this.found.promised.set(node.name, { ...promised, of: comingOn(after) });
    this.replace(candidate, this.candidate(after), after);
    return spokenFor;
  }

  private isAllowed(node: string): boolean {
    const refusal = this.cell.refusal(this.classKey, node);
    if (refusal !== undefined) this.found.refusals.add(refusal);
    return refusal === undefined;
  }

  private replace(candidate: Candidate, by: Candidate | undefined, node: OccupiedNode): void {
    this.candidates.replace(candidate, by);
    this.found.lookedAt.set(node.name, by ?? { node });
  }

  private candidate(node: OccupiedNode): Candidate | undefined {
    const harm = leastHarm(node, this.preemptor, this.left);
    return harm === undefined ? undefined : { node, rank: harm.rank, evictions: harm.evictions };
  }

  /** What was found before still holds, unless a plan has used up a limit since. */
  private victimsOf(candidate: Candidate, mustBeat: Harm | undefined): Victims | undefined {
    const { victims, node } = candidate;
    if (victims !== undefined && this.isWithinLimits(victims)) return victims;
    const found = chooseVictims(node, this.preemptor, this.left, mustBeat);
    if (found !== undefined) candidate.victims = found;
    return found;
  }

  private isWithinLimits({ evicted }: Victims): boolean {
    const limited = evicted.filter((occupant) => obeysLimit(occupant, this.preemptor));
    return limited.every(
      ({ workload }) => limited.filter((one) => one.workload === workload).length <= this.left(workload),
    );
  }

  private readonly left = (workload: string): number => this.cell.disruptionsLeft(workload);
}

/** What is free on a node once all have ended that leave already, but for what holds await of them. */
const comingOn = ({ leaving, allocatable, used }: OccupiedNode): Amount =>
  leaving.reduce(
    (sum, one) => addAmounts(sum, subtractAmounts(one.amount, one.awaited ?? {})),
    subtractAmounts(allocatable, used),
  );

const isSame = (a: Amount, b: Amount): boolean => isNothing(beyond(a, b)) && isNothing(beyond(b, a));
