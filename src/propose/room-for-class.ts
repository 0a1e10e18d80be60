import { addAmounts, type Amount, subtractAmounts } from '../model/amount.js';
import { beyond, isNothing, least } from '../model/amount-parts.js';
import { type Candidate, CandidateOrder } from './candidate-order.js';
import type { ClassKey } from './contract.js';
import { obeysLimit, type OccupiedNode, type Preemptor, withOccupants } from './occupants.js';
import type { PreemptionCell, SpokenFor } from './preemption-cell.js';
import { chooseVictims, compareHarm, type Harm, leastHarm, missingOn, type Victims } from './victims.js';

// So many nodes that promise the same are compared closely; what tells them apart is little.
const nodesComparedMax = 32;
// So many are tried in vain, limits of workloads being in the way, before the replica waits for its next turn.
const nodesFailedMax = 500;

/** Victims on one of the nodes. */
export interface Choice {
  readonly candidate: Candidate;
  readonly victims: Victims;
}

/** The nodes for one class at one rank: looked at once, and after each plan only the node that it changed. */
export class RoomForClass {
  private readonly candidates = new CandidateOrder();
  /** Those on which somebody leaves. */
  private readonly leaving = new Map<string, OccupiedNode>();
  /** Of what comes free on a node, what those that were told to wait for it will take. */
  private readonly promised = new Map<string, Amount>();

  constructor(
    private readonly cell: PreemptionCell,
    private readonly classKey: ClassKey,
    readonly preemptor: Preemptor,
  ) {
    for (const node of cell.nodesFor(classKey)) {
      if (node.leaving.length > 0) this.leaving.set(node.name, node);
      const candidate = this.candidate(node);
      if (candidate !== undefined) this.candidates.add(candidate);
    }
  }

  /** The least harmful way to make room on any of them, or on one. */
  best(only: string | undefined): Choice | undefined {
    let best: Choice | undefined;
    let compared = 0;
    let failed = 0;
    for (const candidate of this.candidates.inOrder()) {
      const { node, rank, evictions } = candidate;
      const { harm } = best?.victims ?? {};
      if (harm !== undefined && (rank - harm.rank || evictions - harm.evictions) > 0) break;
      if (compared === nodesComparedMax || failed === nodesFailedMax) break;
      if (only !== undefined && node.name !== only) continue;
      if (!this.cell.allows(this.classKey, node.name)) continue;
      const victims = this.victimsOf(candidate, harm);
      if (victims === undefined) failed += 1;
      else compared += 1;
      if (victims !== undefined && (harm === undefined || compareHarm(victims.harm, harm) < 0))
        best = { candidate, victims };
    }
    return best;
  }

  /** A node where it fits once all have ended that leave already, whoever they are, and holds have what they await. */
  takeComing(only: string | undefined): string | undefined {
    const { amount, ports } = this.preemptor;
    for (const node of this.leaving.values()) {
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
    this.candidates.replace(candidate, this.candidate(after));
    return spokenFor;
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
