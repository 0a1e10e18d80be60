import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { PriorityClass } from '../../model/kinds/priority-class.js';
import type { Region } from '../../model/kinds/region.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Tenant } from '../../model/kinds/tenant.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Workload } from '../../model/kinds/workload.js';
import {
  type LeaseRecord,
  leaseKey,
  type NodeAccount,
  nodeAccountKey,
  type NodeEpoch,
  nodeEpochKey,
  objectKey,
  replicaNamePrefix,
  type SlotRecord,
  slotKey,
  statusKey,
  type TenantAccount,
  tenantAccountKey,
  type WorkloadAccount,
  workloadAccountKey,
} from '../../model/records.js';
import type { CellState } from './checker.js';

/** The kinds that checkers read. */
interface Kinds {
  Gang: Gang;
  Node: Node;
  PriorityClass: PriorityClass;
  Region: Region;
  Replica: Replica;
  Reservation: Reservation;
  Tenant: Tenant;
  Workload: Workload;
  WorkloadRevision: WorkloadRevision;
}

/** Where an object stands, from either of its two keys. */
export interface ObjectPlace {
  readonly part: 'o' | 's';
  readonly kind: string;
  readonly tenant: string;
  readonly name: string;
}

export function placeOf(key: string): ObjectPlace | undefined {
  const [, part, kind, tenant, name] = key.split('/');
  if ((part !== 'o' && part !== 's') || kind === undefined || tenant === undefined || name === undefined)
    return undefined;
  return { part, kind, tenant, name };
}

/** TENANT, WORKLOAD and SLOT of a slot's key. */
export function slotOf(key: string): { tenant: string; workload: string; slot: string } | undefined {
  const [, first, tenant, workload, slot] = key.split('/');
  return first === 't' && tenant !== undefined && workload !== undefined && slot !== undefined
    ? { tenant, workload, slot }
    : undefined;
}

/**
 * Typed reading of a cell's records. The casts stand at a parsed boundary: what is stored passed the schemas,
 * or was written by the authority under the types of records.ts.
 */
export class CellView {
  constructor(readonly state: CellState) {}

  object<K extends keyof Kinds>(kind: K, tenant: string | undefined, name: string): Kinds[K] | undefined {
    const object = this.state.get(objectKey(kind, tenant, name)) as Kinds[K] | undefined;
    if (object === undefined) return undefined;
    const status = this.state.get(statusKey(kind, tenant, name)) as object | undefined;
    return { ...object, ...status };
  }

  *objects<K extends keyof Kinds>(kind: K, tenant?: string, namePrefix = ''): Generator<Kinds[K]> {
    const prefix = tenant === undefined ? `/o/${kind}/` : `/o/${kind}/${tenant}/${namePrefix}`;
    for (const [key] of this.state.under(prefix)) {
      const place = placeOf(key);
      if (place === undefined) continue;
      const found = this.object(kind, place.tenant, place.name);
      if (found !== undefined) yield found;
    }
  }

  nodeAccount(node: string): NodeAccount | undefined {
    return this.state.get(nodeAccountKey(node)) as NodeAccount | undefined;
  }

  tenantAccount(tenant: string): TenantAccount | undefined {
    return this.state.get(tenantAccountKey(tenant)) as TenantAccount | undefined;
  }

  workloadAccount(tenant: string, workload: string): WorkloadAccount | undefined {
    return this.state.get(workloadAccountKey(tenant, workload)) as WorkloadAccount | undefined;
  }

  nodeEpoch(node: string): NodeEpoch | undefined {
    return this.state.get(nodeEpochKey(node)) as NodeEpoch | undefined;
  }

  lease(name: string): LeaseRecord | undefined {
    return this.state.get(leaseKey(name)) as LeaseRecord | undefined;
  }

  slot(tenant: string, workload: string, slot: string): SlotRecord | undefined {
    return this.state.get(slotKey(tenant, workload, slot)) as SlotRecord | undefined;
  }

  /** All incarnations of a slot that are stored. */
  *incarnations(tenant: string, workload: string, slot: string): Generator<Replica> {
    for (const replica of this.objects('Replica', tenant, replicaNamePrefix(workload, slot)))
      if (replica.spec.workload === workload && replica.spec.slot === slot) yield replica;
  }
}
