import { addAmounts, type Amount, amountOf, noAmount, subtractAmounts } from '../../model/amount.js';
import { CellView, placeOf } from './cell-view.js';
import { type LiveCharge, liveCharge, liveCharges } from './charges.js';
import type { CellState, Commit } from './checker.js';

export interface TenantSums {
  readonly used: Amount;
  readonly borrowed: Amount;
  readonly lost: Amount;
}

const noTenantSums: TenantSums = { used: noAmount, borrowed: noAmount, lost: noAmount };

/** Which sums a commit moved, with what they were before it. */
export interface Moved {
  readonly nodes: ReadonlyMap<string, Amount>;
  readonly tenants: ReadonlyMap<string, TenantSums>;
  /** As TENANT/WORKLOAD. */
  readonly workloads: ReadonlySet<string>;
}

/** How many there are of each name; names of which there are none are not there. */
export type Counts = Readonly<Record<string, number>>;

/**
 * Running sums of all charges that count. Invariant: after `apply` of every commit in order they are what
 * `ChargeBook.of` would find in the state.
 */
export class ChargeBook {
  readonly #charges = new Map<string, LiveCharge>();
  readonly #byNode = new Map<string, Map<string, LiveCharge>>();
  readonly #byWorkload = new Map<string, Map<string, LiveCharge>>();
  readonly #nodes = new Map<string, Amount>();
  readonly #tenants = new Map<string, TenantSums>();

  static of(state: CellState): ChargeBook {
    const book = new ChargeBook();
    for (const live of liveCharges(state)) book.#post(live, addAmounts);
    return book;
  }

  apply(commit: Commit, state: CellState): Moved {
    const cell = new CellView(state);
    const nodes = new Map<string, Amount>();
    const tenants = new Map<string, TenantSums>();
    const workloads = new Set<string>();
    const places = new Map<string, { kind: string; tenant: string; name: string }>();
    for (const { key } of commit.changes) {
      const place = placeOf(key);
      if (place?.kind === 'Replica' || place?.kind === 'Reservation')
        places.set(`/s/${place.kind}/${place.tenant}/${place.name}`, place);
    }
    const note = ({ charge }: LiveCharge): void => {
      if (!nodes.has(charge.node)) nodes.set(charge.node, this.onNode(charge.node));
      if (!tenants.has(charge.tenant)) tenants.set(charge.tenant, this.ofTenant(charge.tenant));
      workloads.add(workloadOf(charge));
    };
    for (const [key, { kind, tenant, name }] of places) {
      const before = this.#charges.get(key);
      const after = liveCharge(cell, kind, tenant, name);
      if (before !== undefined) {
        note(before);
        this.#post(before, subtractAmounts);
      }
      if (after !== undefined) {
        note(after);
        this.#post(after, addAmounts);
      }
    }
    return { nodes, tenants, workloads };
  }

  /** The charge that counts under the key of a status. */
  charge(key: string): LiveCharge | undefined {
    return this.#charges.get(key);
  }

  /** What is posted to a node. */
  onNode(node: string): Amount {
    return this.#nodes.get(node) ?? noAmount;
  }

  ofTenant(tenant: string): TenantSums {
    return this.#tenants.get(tenant) ?? noTenantSums;
  }

  chargesOnNode(node: string): Iterable<LiveCharge> {
    return this.#byNode.get(node)?.values() ?? [];
  }

  chargesOfWorkload(tenant: string, workload: string): Iterable<LiveCharge> {
    return this.#byWorkload.get(`${tenant}/${workload}`)?.values() ?? [];
  }

  /** Charges on a node by TENANT/REVISION. */
  revisionsOnNode(node: string): Counts {
    return counted(this.chargesOnNode(node), ({ charge: { tenant, revision } }) =>
      revision === undefined ? undefined : `${tenant}/${revision}`,
    );
  }

  regionsOfWorkload(tenant: string, workload: string): Counts {
    return counted(this.chargesOfWorkload(tenant, workload), ({ charge }) => charge.region);
  }

  /** By `region/zone`. */
  zonesOfWorkload(tenant: string, workload: string): Counts {
    return counted(this.chargesOfWorkload(tenant, workload), ({ charge: { region, zone } }) =>
      region === undefined || zone === undefined ? undefined : `${region}/${zone}`,
    );
  }

  get nodes(): Iterable<string> {
    return this.#nodes.keys();
  }

  get tenants(): Iterable<string> {
    return this.#tenants.keys();
  }

  /** As TENANT/WORKLOAD. */
  get workloads(): Iterable<string> {
    return this.#byWorkload.keys();
  }

  #post(live: LiveCharge, move: (a: Amount, b: Amount) => Amount): void {
    const { charge, key, full, posted } = live;
    const place = move === addAmounts ? addTo : removeFrom;
    if (move === addAmounts) this.#charges.set(key, live);
    else this.#charges.delete(key);
    place(this.#byNode, charge.node, live);
    place(this.#byWorkload, workloadOf(charge), live);
    this.#nodes.set(charge.node, move(this.onNode(charge.node), posted));

    const { used, borrowed, lost } = this.ofTenant(charge.tenant);
    const isLost = charge.subtotal === 'Lost';
    const isBorrowed = !isLost && charge.rank === 'Borrowed';
    this.#tenants.set(charge.tenant, {
      used: isLost ? used : move(used, full),
      borrowed: isBorrowed ? move(borrowed, amountOf(charge.amounts)) : borrowed,
      lost: isLost ? move(lost, full) : lost,
    });
  }
}

const workloadOf = ({ tenant, workload }: LiveCharge['charge']): string => `${tenant}/${workload ?? ''}`;

function addTo(index: Map<string, Map<string, LiveCharge>>, at: string, live: LiveCharge): void {
  const list = index.get(at) ?? new Map<string, LiveCharge>();
  index.set(at, list.set(live.key, live));
}

function removeFrom(index: Map<string, Map<string, LiveCharge>>, at: string, live: LiveCharge): void {
  index.get(at)?.delete(live.key);
}

function counted(charges: Iterable<LiveCharge>, nameOf: (live: LiveCharge) => string | undefined): Counts {
  const counts: Record<string, number> = {};
  for (const live of charges) {
    const name = nameOf(live);
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
