import type { Replica, ReplicaStatus } from '../model/kinds/replica.js';
import type { Reservation, ReservationStatus } from '../model/kinds/reservation.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import type { NodeAccount, NodeEpoch, SlotRecord, TenantAccount, WorkloadAccount } from '../model/records.js';
import type { Stored } from './stored.js';

/** One object of a kind that is charged, as its two keys have it. */
export interface Recorded<T extends { readonly metadata: unknown; readonly spec: unknown }, S> {
  readonly tenant: string;
  readonly name: string;
  /** The key of its status. */
  readonly key: string;
  stored: Stored<T> | undefined;
  status: S | undefined;
  /** The revision at which it came into being. */
  createRevision: number;
}
export type RecordedReplica = Recorded<Replica, ReplicaStatus>;
export type RecordedHold = Recorded<Reservation, ReservationStatus>;

/** What an audit looks at, from all entries of a store at one revision. */
export class AuditRecords {
  readonly nodes = new Map<string, NodeAccount>();
  readonly epochs = new Map<string, NodeEpoch>();
  readonly tenants = new Map<string, TenantAccount>();
  /** By `TENANT/NAME`, as are the replicas, holds and revisions. */
  readonly workloads = new Map<string, WorkloadAccount>();
  readonly replicas = new Map<string, RecordedReplica>();
  readonly holds = new Map<string, RecordedHold>();
  readonly atMostOne = new Set<string>();
  /** By `TENANT/WORKLOAD/SLOT`. */
  readonly slots = new Map<string, SlotRecord>();

  /** Whether an entry under this key is looked at. */
  static isWanted(key: string): boolean {
    return /^\/(a|e|t|[os]\/(Replica|Reservation)|o\/WorkloadRevision)\//.test(key);
  }

  /** A parsed boundary: only the authority and admission write under these keys. */
  add(key: string, value: unknown, createRevision: number): void {
    const [, part, kind = '', tenant = '', name = ''] = key.split('/');
    if (part === 'e') this.epochs.set(kind, value as NodeEpoch);
    else if (part === 't') this.slots.set(key.slice('/t/'.length), value as SlotRecord);
    else if (part === 'a' && kind === 'node') this.nodes.set(tenant, value as NodeAccount);
    else if (part === 'a' && kind === 'tenant') this.tenants.set(tenant, value as TenantAccount);
    else if (part === 'a') this.workloads.set(`${tenant}/${name}`, value as WorkloadAccount);
    else if (kind === 'WorkloadRevision') {
      const { template } = (value as WorkloadRevision).spec;
      if (template.execution === 'AtMostOne') this.atMostOne.add(`${tenant}/${name}`);
    } else if (kind === 'Replica')
      put(recordOf(this.replicas, kind, tenant, name), part, value, createRevision);
    else put(recordOf(this.holds, kind, tenant, name), part, value, createRevision);
  }
}

type Any = { readonly metadata: unknown; readonly spec: unknown };

function recordOf<T extends Any, S>(
  records: Map<string, Recorded<T, S>>,
  kind: string,
  tenant: string,
  name: string,
): Recorded<T, S> {
  const known = records.get(`${tenant}/${name}`);
  if (known !== undefined) return known;
  const key = `/s/${kind}/${tenant}/${name}`;
  const fresh = { tenant, name, key, stored: undefined, status: undefined, createRevision: 0 };
  records.set(`${tenant}/${name}`, fresh);
  return fresh;
}

function put<T extends Any, S>(
  record: Recorded<T, S>,
  part: string | undefined,
  value: unknown,
  createRevision: number,
): void {
  if (part === 's') record.status = (value as { readonly status: S }).status;
  else {
    record.stored = value as Stored<T>;
    record.createRevision = createRevision;
  }
}
