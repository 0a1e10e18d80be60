import { type Amount, amountOf } from '../model/amount.js';
import { amountCharged, amountsAsked, rankOf } from '../model/asked.js';
import { pickPorts } from '../model/pick-ports.js';
import type { TenantSpec } from '../model/kinds/tenant.js';
import type { WorkloadRevisionSpec } from '../model/kinds/workload-revision.js';
import type { TenantAccount } from '../model/records.js';
import type { ClassKey, Placement } from './contract.js';
import type { AmountSum } from './amount-sum.js';
import type { NodeTable } from './node-table.js';

/** What of the cell assumptions are charged to. */
interface Books {
  readonly nodes: NodeTable;
  revision(key: ClassKey): { readonly spec: WorkloadRevisionSpec } | undefined;
  tenant(name: string): {
    readonly spec: TenantSpec | undefined;
    readonly assumed: { readonly used: AmountSum; readonly borrowed: AmountSum };
  };
  tenantAccount(name: string): TenantAccount;
  workload(tenant: string, name: string): { readonly assumedZones: Map<string, number> };
}

interface Assumption {
  readonly tenant: string;
  readonly workload: string;
  readonly classKey: ClassKey;
  /** Undefined where nothing is charged: its hold is charged already. */
  readonly charged:
    | {
        readonly row: number;
        readonly generation: number;
        readonly amount: Amount;
        readonly ofTenant: Amount;
        readonly isBorrowed: boolean;
        readonly zone: string;
        readonly ports: readonly number[];
      }
    | undefined;
}

/** What was proposed and is on its way to the authority, charged to the picture of the cell meanwhile. */
export class Assumptions {
  /** By uid. */
  readonly #byReplica = new Map<string, Assumption>();

  constructor(private readonly cell: Books) {}

  has(uid: string): boolean {
    return this.#byReplica.has(uid);
  }

  add({ replica, node }: Placement): void {
    if (this.#byReplica.has(replica.uid)) return;
    const { tenant, workload, classKey } = replica;
    const charged = replica.hold === undefined ? this.#charge(replica, node) : undefined;
    this.#byReplica.set(replica.uid, { tenant, workload, classKey, charged });
  }

  /** What was charged is not any more. */
  drop(uid: string): Assumption | undefined {
    const assumption = this.#byReplica.get(uid);
    if (assumption === undefined) return undefined;
    this.#byReplica.delete(uid);
    if (assumption.charged !== undefined) this.#post(assumption, assumption.charged, -1);
    return assumption;
  }

  #charge(replica: Placement['replica'], node: string): Assumption['charged'] {
    const { cell } = this;
    const { nodes } = cell;
    const row = nodes.rowOf(node);
    const spec = cell.revision(replica.classKey)?.spec;
    const shape = row === undefined ? undefined : nodes.shapeAt(row);
    if (row === undefined || spec === undefined || shape === undefined) return undefined;
    const { resources } = spec.template;
    const amounts = amountsAsked(resources);
    const amount = amountOf(amounts);
    const tenant = cell.tenant(replica.tenant);
    // Without a guarantee, all that takes anything is borrowed: no need to add up.
    const isBorrowed =
      tenant.spec?.guaranteed === undefined ||
      rankOf(cell.tenantAccount(replica.tenant), tenant.spec, amount) === 'Borrowed';
    const picked = resources?.ports && pickPorts(resources.ports, (port) => nodes.isPortClaimed(row, port));
    const charged = {
      row,
      generation: nodes.generations[row] as number,
      amount,
      ofTenant: amountCharged(amounts),
      isBorrowed,
      zone: shape.zoneKey,
      ports: picked !== undefined && 'ports' in picked ? Object.values(picked.ports) : noPorts,
    };
    this.#post(replica, charged, 1);
    return charged;
  }

  #post(
    { tenant, workload, classKey }: Omit<Assumption, 'charged'>,
    charged: NonNullable<Assumption['charged']>,
    more: 1 | -1,
  ): void {
    const { nodes } = this.cell;
    const { row, amount } = charged;
    // A row that was given to another node meanwhile is not charged any more.
    if (nodes.generations[row] === charged.generation) {
      nodes.addAssumed(row, amount.cpuMilli ?? 0, amount.memoryBytes ?? 0, more);
      nodes.revisionRows.add(classKey, row, more);
      for (const name in amount.devices)
        nodes.addAssumedDevices(row, name, more * (amount.devices[name] ?? 0));
      for (const port of charged.ports) nodes.addAssumedPort(row, port, more);
    }
    const { assumed } = this.cell.tenant(tenant);
    assumed.used.add(charged.ofTenant, more);
    if (charged.isBorrowed) assumed.borrowed.add(amount, more);
    const { assumedZones } = this.cell.workload(tenant, workload);
    const count = (assumedZones.get(charged.zone) ?? 0) + more;
    if (count === 0) assumedZones.delete(charged.zone);
    else assumedZones.set(charged.zone, count);
  }
}

const noPorts: readonly number[] = [];
