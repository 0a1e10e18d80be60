import { type Amount, amountOf } from '../model/amount.js';
import { rankWeight } from '../model/rank.js';
import type { Stage } from '../model/stages.js';
import type { CellState, ReplicaState } from './cell-state.js';
import type { Occupant } from './occupants.js';

const running: ReadonlySet<Stage> = new Set<Stage>(['Bound', 'Starting', 'Ready', 'Serving']);
const nobody: readonly never[] = [];

interface Occupants {
  readonly version: number | undefined;
  /** The lowest rank first. */
  readonly running: readonly Occupant[];
  readonly leaving: readonly Leaving[];
}

interface Leaving {
  readonly occupant: Occupant;
  /** The hold that was to get what it frees, as `TENANT/NAME`; it may have been given up since. */
  readonly awaitedBy: string | undefined;
}

/**
 * Who is on which node, in the order of ranks: put in order when somebody asks, and again only after a replica there
 * has changed. What is asked of all nodes is then a pass over arrays.
 */
export class Occupancy {
  readonly #byNode = new Map<string, Occupants>();
  #priorities = '';

  constructor(private readonly cell: CellState) {}

  /** To be called before a pass over many nodes: ranks are others when the priority of a class is. */
  refresh(): void {
    const priorities = [...this.cell.priorityClasses].map(([name, { value }]) => `${name}=${value}`).join();
    if (priorities !== this.#priorities) this.#byNode.clear();
    this.#priorities = priorities;
  }

  running(node: string): readonly Occupant[] {
    return this.#on(node).running;
  }

  /** Those that leave, each with what a hold that stands gets of it. */
  leaving(node: string): readonly Occupant[] {
    const { leaving } = this.#on(node);
    return leaving.length === 0 ? nobody : leaving.map((one) => this.#withAwaited(one));
  }

  #on(node: string): Occupants {
    const version = this.cell.chargesVersion(node);
    const known = this.#byNode.get(node);
    if (known !== undefined && known.version === version) return known;
    const made = this.#ordered(node, version);
    if (version === undefined) this.#byNode.delete(node);
    else this.#byNode.set(node, made);
    return made;
  }

  #ordered(node: string, version: number | undefined): Occupants {
    const stay: Occupant[] = [];
    const leaving: Leaving[] = [];
    for (const replica of this.cell.chargesOn(node)) {
      const stage = replica.status?.stage;
      const occupant = this.#occupant(replica);
      if (stage === undefined || occupant === undefined) continue;
      if (running.has(stage)) stay.push(occupant);
      // Of one that is Unknown nobody knows whether it runs, nor when it will have ended.
      else if (stage === 'Releasing') leaving.push({ occupant, awaitedBy: replica.status?.awaitedBy });
    }
    return { version, running: stay.toSorted((a, b) => a.rank - b.rank), leaving };
  }

  #occupant({ tenant, name, stored, status }: ReplicaState): Occupant | undefined {
    const charge = status?.charge;
    if (stored === undefined || charge === undefined) return undefined;
    const className = this.cell.revision(`${tenant}/${stored.spec.revision}`)?.spec.priorityClassName;
    const priority = this.cell.priorityClasses.get(className ?? 'default')?.value ?? 0;
    return {
      replica: { tenant, name, uid: stored.metadata.uid },
      workload: `${tenant}/${stored.spec.workload}`,
      rank: rankWeight(charge.rank, priority),
      isBorrowed: charge.rank === 'Borrowed',
      amount: amountOf(charge.amounts),
      ports: charge.ports === undefined ? nobody : Object.values(charge.ports),
      born: Number(status?.binding?.fence ?? 0),
    };
  }

  #withAwaited({ occupant, awaitedBy }: Leaving): Occupant {
    if (awaitedBy === undefined) return occupant;
    const [tenant = '', name = ''] = awaitedBy.split('/');
    const hold = this.cell.reservation(tenant, name)?.status;
    const awaited: Amount | undefined =
      hold?.state === 'Held'
        ? hold.awaits
            ?.filter(({ uid }) => uid === occupant.replica.uid)
            .map(({ amounts }) => amountOf(amounts))[0]
        : undefined;
    return awaited === undefined ? occupant : { ...occupant, awaited };
  }
}
