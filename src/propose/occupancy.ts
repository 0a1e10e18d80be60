import { type Amount, amountOf, ownValue } from '../model/amount.js';
import { rankWeight } from '../model/rank.js';
import type { NodeAccount } from '../model/records.js';
import type { CellState } from './cell-state.js';
import { canLeave, type ReplicaState } from './replica-states.js';
import type { NodeTable } from './node-table.js';
import { type Occupant, type OccupiedNode, rankSteps } from './occupants.js';

const nobody: readonly never[] = [];
// Names of workloads that are gone are forgotten with all others; those that are met again cost a string each.
const workloadsMax = 100_000;

/** A node with the replicas on it, and at which changes of the table it was looked at. */
interface Known {
  readonly name: string;
  readonly changedAt: number;
  readonly occupantsChangedAt: number;
  readonly node: OccupiedNode;
  readonly leaving: readonly Leaving[];
}

interface Leaving {
  readonly occupant: Occupant;
  /** The hold that was to get what it frees, as `TENANT/NAME`; it may have been given up since. */
  readonly awaitedBy: string | undefined;
}

/**
 * Nodes with who is on them, in the order of ranks: put in order when somebody asks, and again only after the node or a
 * replica there has changed. What is asked of all nodes is then a pass over what is there already.
 */
export class Occupancy {
  readonly #byRow: (Known | undefined)[] = [];
  readonly #workloads = new Map<string, string>();
  #priorities = '';

  constructor(
    private readonly cell: CellState,
    private readonly seed: number,
  ) {}

  /** To be called before a pass over many nodes: ranks are others when the priority of a class is. */
  refresh(): void {
    const priorities = [...this.cell.priorityClasses].map(([name, { value }]) => `${name}=${value}`).join();
    if (priorities !== this.#priorities) this.#byRow.length = 0;
    this.#priorities = priorities;
    if (this.#workloads.size > workloadsMax) this.#workloads.clear();
  }

  /** Looks at so many of the nodes that have changed, at most. How many are left. */
  catchUp(most: number): number {
    let stale = 0;
    for (let row = 0; row < this.cell.nodes.rows; row += 1) {
      if (this.#isCurrent(row)) continue;
      stale += 1;
      if (stale <= most) this.#byRow[row] = this.#look(row);
    }
    return Math.max(0, stale - most);
  }

  /** The node of a row, with what is assumed there counted as used; undefined if it is not registered. */
  at(row: number): OccupiedNode | undefined {
    if (!this.#isCurrent(row)) this.#byRow[row] = this.#look(row);
    const known = this.#byRow[row];
    if (known === undefined || known.leaving.length === 0) return known?.node;
    // Which holds stand is not the node's to say.
    return { ...known.node, leaving: known.leaving.map((one) => this.#withAwaited(one)) };
  }

  /** Of a row without a registered node there is nothing to know. */
  #isCurrent(row: number): boolean {
    const { nodes } = this.cell;
    const known = this.#byRow[row];
    return known === undefined
      ? nodes.accounts[row] === undefined || nodes.epochs[row] === undefined
      : known.changedAt === nodes.changedAt[row] &&
          known.occupantsChangedAt === nodes.occupantsChangedAt[row] &&
          known.name === nodes.names[row];
  }

  #look(row: number): Known | undefined {
    const { nodes } = this.cell;
    const name = nodes.names[row];
    const account = nodes.accounts[row];
    const nodeEpoch = nodes.epochs[row];
    if (name === undefined || account === undefined || nodeEpoch === undefined) return undefined;
    const stay: Occupant[] = [];
    const leaving: Leaving[] = [];
    for (const replica of this.cell.chargesOn(name)) {
      const stage = replica.status?.stage;
      const occupant = this.#occupant(replica);
      if (stage === undefined || occupant === undefined) continue;
      if (canLeave(stage)) stay.push(occupant);
      // Of one that is Unknown nobody knows whether it runs, nor when it will have ended.
      else if (stage === 'Releasing') leaving.push({ occupant, awaitedBy: replica.status?.awaitedBy });
    }
    const inOrder = stay.toSorted((a, b) => a.rank - b.rank);
    return {
      name,
      changedAt: nodes.changedAt[row] ?? 0,
      occupantsChangedAt: nodes.occupantsChangedAt[row] ?? 0,
      leaving,
      node: {
        name,
        nodeEpoch,
        tie: Math.imul((nodes.nameHashes[row] ?? 0) ^ this.seed, 0x9e3779b1) >>> 0,
        allocatable: account.allocatable,
        used: usedWithAssumed(nodes, row, account),
        portOwners: account.claims.ports,
        running: inOrder,
        steps: rankSteps(inOrder),
        leaving: nobody,
      },
    };
  }

  #occupant({ stored, status }: ReplicaState): Occupant | undefined {
    const charge = status?.charge;
    if (stored === undefined || charge === undefined) return undefined;
    const { namespace: tenant = '', name, uid } = stored.metadata;
    const className = this.cell.revision(`${tenant}/${stored.spec.revision}`)?.spec.priorityClassName;
    const priority = this.cell.priorityClasses.get(className ?? 'default')?.value ?? 0;
    return {
      replica: { tenant, name, uid },
      workload: this.#workload(tenant, stored.spec.workload),
      rank: rankWeight(charge.rank, priority),
      isBorrowed: charge.rank === 'Borrowed',
      amount: amountOf(charge.amounts),
      ports: charge.ports === undefined ? nobody : Object.values(charge.ports),
      born: Number(status?.binding?.fence ?? 0),
    };
  }

  /** One string for all replicas of a workload: there are many, and they are compared often. */
  #workload(tenant: string, name: string): string {
    const key = `${tenant}/${name}`;
    const known = this.#workloads.get(key);
    if (known === undefined) this.#workloads.set(key, key);
    return known ?? key;
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

function usedWithAssumed(nodes: NodeTable, row: number, { allocatable }: NodeAccount): Amount {
  const devices: Record<string, number> = {};
  for (const name of Object.keys(allocatable.devices ?? {})) {
    const { free, idsFree } = nodes.deviceColumn(name);
    // A device without an id that nobody claims is as good as used.
    const left = Math.min(free[row] ?? 0, idsFree[row] ?? 0);
    devices[name] = (ownValue(allocatable.devices, name) ?? 0) - left;
  }
  return {
    cpuMilli: (nodes.cpuAllocatable[row] ?? 0) - (nodes.cpuFree[row] ?? 0),
    memoryBytes: (nodes.memoryAllocatable[row] ?? 0) - (nodes.memoryFree[row] ?? 0),
    ...(allocatable.devices !== undefined && { devices }),
  };
}
