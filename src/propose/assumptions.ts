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
  /** Another one after every change of a revision. */
  readonly revisionsVersion: number;
  revision(key: ClassKey): { readonly spec: WorkloadRevisionSpec } | undefined;
  tenant(name: string): TenantBooks;
  tenantAccount(name: string): TenantAccount;
  workload(tenant: string, name: string): WorkloadBooks;
}

interface TenantBooks {
  readonly spec: TenantSpec | undefined;
  readonly assumed: { readonly used: AmountSum; readonly borrowed: AmountSum };
}

interface WorkloadBooks {
  /** Never forgotten while there is something in it. */
  readonly assumedZones: Map<string, number>;
}

/** What all assumptions of a class are charged with, and to. */
interface ClassCharge {
  readonly classKey: ClassKey;
  readonly tenant: string;
  readonly workload: string;
  readonly revisionsVersion: number;
  readonly spec: WorkloadRevisionSpec;
  readonly amount: Amount;
  readonly ofTenant: Amount;
  readonly tenantBooks: TenantBooks;
  readonly workloadBooks: WorkloadBooks;
}

/** A placement that is charged. */
export interface Assumption {
  readonly of: ClassCharge;
  readonly row: number;
  readonly generation: number;
  readonly isBorrowed: boolean;
  readonly zone: string;
  readonly ports: readonly number[];
}

/** What was proposed and is on its way to the authority, charged to the picture of the cell meanwhile. */
export class Assumptions {
  /** By uid; undefined where there is nothing to charge it to. */
  readonly #byReplica = new Map<string, Assumption | undefined>();
  // The class that was charged last: a turn charges hundreds of one.
  #class: ClassCharge | undefined;

  constructor(private readonly cell: Books) {}

  has(uid: string): boolean {
    return this.#byReplica.has(uid);
  }

  add({ replica, node }: Placement): void {
    if (this.#byReplica.has(replica.uid)) return;
    this.#byReplica.set(replica.uid, this.#charge(replica, node));
  }

  /** What was charged is not any more. Undefined: nothing was. */
  drop(uid: string): Assumption | undefined {
    // Of every replica whose status changes, and mostly of none that was assumed.
    if (this.#byReplica.size === 0) return undefined;
    const assumption = this.#byReplica.get(uid);
    this.#byReplica.delete(uid);
    if (assumption !== undefined) this.#post(assumption, -1);
    return assumption;
  }

  #charge(replica: Placement['replica'], node: string): Assumption | undefined {
    const { cell } = this;
    const { nodes } = cell;
    const row = nodes.rowOf(node);
    const of = this.#classCharge(replica);
    const shape = row === undefined ? undefined : nodes.shapeAt(row);
    if (row === undefined || of === undefined || shape === undefined) return undefined;
    const guaranteeing = of.tenantBooks.spec;
    // Without a guarantee, all that takes anything is borrowed: no need to add up.
    const isBorrowed =
      guaranteeing?.guaranteed === undefined ||
      rankOf(cell.tenantAccount(of.tenant), guaranteeing, of.amount) === 'Borrowed';
    const ports = of.spec.template.resources?.ports;
    const picked = ports && pickPorts(ports, (port) => nodes.isPortClaimed(row, port));
    const assumption: Assumption = {
      of,
      row,
      generation: nodes.generations[row] as number,
      isBorrowed,
      zone: shape.zoneKey,
      ports: picked !== undefined && 'ports' in picked ? Object.values(picked.ports) : noPorts,
    };
    this.#post(assumption, 1);
    return assumption;
  }

  #classCharge({ tenant, workload, classKey }: Placement['replica']): ClassCharge | undefined {
    const { cell } = this;
    const last = this.#class;
    if (
      last?.classKey === classKey &&
      last.revisionsVersion === cell.revisionsVersion &&
      last.workload === workload &&
      // Otherwise its workload may have been forgotten since.
      last.workloadBooks.assumedZones.size > 0
    )
      return last;
    const spec = cell.revision(classKey)?.spec;
    if (spec === undefined) return undefined;
    const amounts = amountsAsked(spec.template.resources);
    return (this.#class = {
      classKey,
      tenant,
      workload,
      revisionsVersion: cell.revisionsVersion,
      spec,
      amount: amountOf(amounts),
      ofTenant: amountCharged(amounts),
      tenantBooks: cell.tenant(tenant),
      workloadBooks: cell.workload(tenant, workload),
    });
  }

  #post({ of, row, generation, isBorrowed, zone, ports }: Assumption, more: 1 | -1): void {
    const { nodes } = this.cell;
    const { amount, classKey } = of;
    // A row that was given to another node meanwhile is not charged any more.
    if (nodes.generations[row] === generation) {
      nodes.addAssumed(row, amount.cpuMilli ?? 0, amount.memoryBytes ?? 0, more);
      nodes.revisionRows.add(classKey, row, more);
      for (const name in amount.devices)
        nodes.addAssumedDevices(row, name, more * (amount.devices[name] ?? 0));
      for (const port of ports) nodes.addAssumedPort(row, port, more);
    }
    const { assumed } = of.tenantBooks;
    assumed.used.add(of.ofTenant, more);
    if (isBorrowed) assumed.borrowed.add(amount, more);
    const { assumedZones } = of.workloadBooks;
    const count = (assumedZones.get(zone) ?? 0) + more;
    if (count === 0) assumedZones.delete(zone);
    else assumedZones.set(zone, count);
  }
}

const noPorts: readonly number[] = [];
