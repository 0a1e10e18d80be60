import type { Gang, GangStatus } from '../model/kinds/gang.js';
import type { Node } from '../model/kinds/node.js';
import type { PriorityClass } from '../model/kinds/priority-class.js';
import type { Region } from '../model/kinds/region.js';
import type { Replica, ReplicaStatus } from '../model/kinds/replica.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { Tenant } from '../model/kinds/tenant.js';
import type { Workload } from '../model/kinds/workload.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import { fenceIn } from '../model/fence-problem.js';
import {
  leaseKey,
  nodeAccountKey,
  nodeEpochKey,
  objectKey,
  slotKey,
  statusKey,
  tenantAccountKey,
  workloadAccountKey,
  emptyTenantAccount,
  emptyWorkloadAccount,
  type LeaseRecord,
  type NodeAccount,
  type NodeEpoch,
  type SlotRecord,
  type TenantAccount,
  type WorkloadAccount,
} from '../model/records.js';
import type { Draft } from './draft.js';

/** What stands under /o of each kind: the object without its status. */
export interface Stored<T extends { readonly metadata: unknown; readonly spec: unknown }> {
  readonly metadata: T['metadata'];
  readonly spec: T['spec'];
}
type StatusOf<T> = T extends { readonly status?: infer S } ? NonNullable<S> : never;

/** The records of the authority and the objects it relies on, read from a draft. A parsed boundary: only what the
 * authority and admission wrote stands under these keys. */
export const nodeAccount = (draft: Draft, node: string): NodeAccount | undefined =>
  draft.read(nodeAccountKey(node)) as NodeAccount | undefined;

export const tenantAccount = (draft: Draft, tenant: string): TenantAccount =>
  (draft.read(tenantAccountKey(tenant)) as TenantAccount | undefined) ?? emptyTenantAccount;

export const workloadAccount = (draft: Draft, tenant: string, workload: string): WorkloadAccount =>
  (draft.read(workloadAccountKey(tenant, workload)) as WorkloadAccount | undefined) ?? emptyWorkloadAccount;

export const nodeEpoch = (draft: Draft, node: string): NodeEpoch | undefined =>
  draft.read(nodeEpochKey(node)) as NodeEpoch | undefined;

export const leaseRecord = (draft: Draft, name: string): LeaseRecord | undefined =>
  draft.read(leaseKey(name)) as LeaseRecord | undefined;

/** The fence of the cell as it stands. */
export const storedFence = (draft: Draft): ReturnType<typeof fenceIn> => fenceIn(draft);

export const slotRecord = (
  draft: Draft,
  tenant: string,
  workload: string,
  slot: string,
): SlotRecord | undefined => draft.read(slotKey(tenant, workload, slot)) as SlotRecord | undefined;

const storedObject =
  <T extends { readonly metadata: unknown; readonly spec: unknown }>(kind: string) =>
  (draft: Draft, namespace: string | undefined, name: string): Stored<T> | undefined =>
    draft.read(objectKey(kind, namespace, name)) as Stored<T> | undefined;

export const storedNode = storedObject<Node>('Node');
export const storedTenant = storedObject<Tenant>('Tenant');
export const storedRegion = storedObject<Region>('Region');
export const storedWorkload = storedObject<Workload>('Workload');
export const storedPriorityClass = storedObject<PriorityClass>('PriorityClass');
export const storedReplica = storedObject<Replica>('Replica');
export const storedReservation = storedObject<Reservation>('Reservation');
export const storedGang = storedObject<Gang>('Gang');

/** Revisions never change, so one that is there needs no guard. */
export const storedRevision = (
  draft: Draft,
  tenant: string,
  name: string,
): Stored<WorkloadRevision> | undefined =>
  draft.readImmutable(objectKey('WorkloadRevision', tenant, name)) as Stored<WorkloadRevision> | undefined;

export function statusOf<T>(
  draft: Draft,
  kind: string,
  namespace: string | undefined,
  name: string,
): StatusOf<T> | undefined {
  const stored = draft.read(statusKey(kind, namespace, name)) as { readonly status: StatusOf<T> } | undefined;
  return stored?.status;
}

export function putStatus(
  draft: Draft,
  kind: string,
  namespace: string | undefined,
  name: string,
  status: object,
): void {
  draft.put(statusKey(kind, namespace, name), { status });
}

export const gangStatus = (draft: Draft, tenant: string, name: string): GangStatus | undefined =>
  statusOf<Gang>(draft, 'Gang', tenant, name);

export const replicaStatus = (draft: Draft, tenant: string, name: string): ReplicaStatus | undefined =>
  statusOf<Replica>(draft, 'Replica', tenant, name);
