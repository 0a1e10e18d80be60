import type { Gang } from '../model/kinds/gang.js';
import type { NodeStatus } from '../model/kinds/node.js';
import type { PriorityClass } from '../model/kinds/priority-class.js';
import type { Region } from '../model/kinds/region.js';
import type { Replica, ReplicaStatus } from '../model/kinds/replica.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { Tenant } from '../model/kinds/tenant.js';
import type { Workload } from '../model/kinds/workload.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import {
  emptyTenantAccount,
  emptyWorkloadAccount,
  type NodeAccount,
  type NodeEpoch,
  type TenantAccount,
  type WorkloadAccount,
} from '../model/records.js';
import { isTerminal, type Stage } from '../model/stages.js';
import { AmountSum } from './amount-sum.js';
import { Assumptions } from './assumptions.js';
import type { ClassKey, Placement } from './contract.js';
import { NodeTable, type StoredNode } from './node-table.js';
import type { Easing } from './queue/cures.js';
import { TenantClasses } from './tenant-classes.js';

/** What stands under /o of a kind: the object without its status. */
type Stored<T extends { readonly metadata: unknown; readonly spec: unknown }> = Pick<T, 'metadata' | 'spec'>;

export interface TenantState {
  spec: Tenant['spec'] | undefined;
  account: TenantAccount;
  /** Beyond the account: what was proposed and is on its way. */
  readonly assumed: { readonly used: AmountSum; readonly borrowed: AmountSum };
}

export interface WorkloadState {
  stored: Stored<Workload> | undefined;
  account: WorkloadAccount;
  /** Beyond the account, by `region/zone`: what was proposed and is on its way. */
  readonly assumedZones: Map<string, number>;
  /** How many replicas of it that have failed were on which node. */
  readonly failures: Map<string, number>;
}

/** A replica as its two records show it. */
export interface ReplicaState {
  readonly tenant: string;
  readonly name: string;
  /** Empty until its object is seen. */
  uid: string;
  workload: string | undefined;
  stored: Stored<Replica> | undefined;
  status: ReplicaStatus | undefined;
}

export interface ReservationState {
  readonly tenant: string;
  readonly name: string;
  stored: Stored<Reservation> | undefined;
  status: Reservation['status'];
}

export interface GangState {
  stored: Stored<Gang> | undefined;
  status: Gang['status'];
}

const noSet: ReadonlySet<never> = new Set();
const noClasses = new TenantClasses();

/**
 * The cell as the scheduler sees it, at a revision: kept current by every change of a record, each at a cost that does
 * not grow with the cell.
 *
 * Invariant: what is assumed is counted once. A placement that was proposed is charged to the accounts of node, tenant
 * and workload here, until the replica's own status says that it is charged, or that it ended, or until the proposer
 * gives it up. The authority posts a charge and writes that status in one transaction, and all keys of a revision are
 * applied together: so no turn ever sees the charge in an account and the assumption as well, nor neither of them.
 */
export class CellState {
  /** The resourceVersion it stands at; set by who applies changes. */
  version = '0';
  readonly nodes = new NodeTable();
  readonly regions = new Map<string, Region['spec']>();
  readonly priorityClasses = new Map<string, PriorityClass['spec']>();
  /** Changes with the regions and priority classes: rules that were judged by them are judged again. */
  placesVersion = 0;
  #revisionChanges = 0;
  readonly #tenants = new Map<string, TenantState>();
  readonly #workloads = new Map<string, WorkloadState>();
  readonly #revisions = new Map<ClassKey, Stored<WorkloadRevision>>();
  readonly #classes = new Map<string, TenantClasses>();
  readonly #replicas = new Map<string, ReplicaState>();
  readonly #gangs = new Map<string, GangState>();
  readonly #reservingGangs = new Set<string>();
  readonly #reservations = new Map<string, ReservationState>();
  readonly #chargesOn = new Map<string, Set<ReplicaState>>();
  readonly #holdsOn = new Map<string, Set<ReservationState>>();
  readonly #assumptions = new Assumptions(this);
  #easings: Easing[] = [];

  tenant(name: string): TenantState {
    return made(this.#tenants, name, () => ({
      spec: undefined,
      account: emptyTenantAccount,
      assumed: { used: new AmountSum(), borrowed: new AmountSum() },
    }));
  }

  /** The account of a tenant, with what is assumed. */
  tenantAccount(name: string): TenantAccount {
    const { account, assumed } = this.tenant(name);
    return {
      ...account,
      used: assumed.used.on(account.used),
      borrowed: assumed.borrowed.on(account.borrowed),
    };
  }

  workload(tenant: string, name: string): WorkloadState {
    return made(this.#workloads, `${tenant}/${name}`, () => ({
      stored: undefined,
      account: emptyWorkloadAccount,
      assumedZones: new Map(),
      failures: new Map(),
    }));
  }

  /** How many charged or assumed replicas of a workload there are, by `region/zone` and by `region`. A copy. */
  spreadOf(tenant: string, name: string): { zones: Record<string, number>; regions: Record<string, number> } {
    const { account, assumedZones } = this.workload(tenant, name);
    const zones = { ...account.zones };
    const regions = { ...account.regions };
    for (const [key, more] of assumedZones) {
      zones[key] = (zones[key] ?? 0) + more;
      const region = key.slice(0, key.indexOf('/'));
      regions[region] = (regions[region] ?? 0) + more;
    }
    return { zones, regions };
  }

  revision(key: ClassKey): Stored<WorkloadRevision> | undefined {
    return this.#revisions.get(key);
  }

  classesOf(tenant: string): Omit<TenantClasses, 'set'> {
    return this.#classes.get(tenant) ?? noClasses;
  }

  replica(tenant: string, name: string): ReplicaState | undefined {
    return this.#replicas.get(`${tenant}/${name}`);
  }

  /** `TENANT/NAME` of every gang that reserves, whoever drives it. */
  get reservingGangs(): ReadonlySet<string> {
    return this.#reservingGangs;
  }

  gang(tenant: string, name: string): GangState | undefined {
    return this.#gangs.get(`${tenant}/${name}`);
  }

  reservation(tenant: string, name: string): ReservationState | undefined {
    return this.#reservations.get(`${tenant}/${name}`);
  }

  /** The replicas that a node is charged with. */
  chargesOn(node: string): ReadonlySet<ReplicaState> {
    return this.#chargesOn.get(node) ?? noSet;
  }

  /** The holds that stand on a node. */
  holdsOn(node: string): ReadonlySet<ReservationState> {
    return this.#holdsOn.get(node) ?? noSet;
  }

  /** Charges a placement that is on its way. Once for a replica; a second time changes nothing. */
  assume(placement: Placement): void {
    this.#assumptions.add(placement);
  }

  /** The placement was refused, or given up: it is no longer charged. */
  unassume({ uid }: { readonly uid: string }): void {
    this.#giveUp(uid);
  }

  /** What got easier since the last call without a record that says so. At most as many as were assumed, or came back. */
  takeEasings(): readonly Easing[] {
    if (this.#easings.length === 0) return this.#easings;
    const easings = this.#easings;
    this.#easings = [];
    return easings;
  }

  #giveUp(uid: string): void {
    const { tenant, charged } = this.#assumptions.drop(uid) ?? {};
    if (tenant === undefined || charged === undefined) return;
    this.#easings.push({ kind: 'GivenUp', tenant, node: this.nodes.names[charged.row] ?? '' });
  }

  isAssumed({ uid }: { readonly uid: string }): boolean {
    return this.#assumptions.has(uid);
  }

  /** What stands under a key now; undefined if it is gone. A parsed boundary: only admitted records stand there. */
  apply(key: string, value: unknown): void {
    if (key.startsWith('/a/node/')) this.nodes.setAccount(key.slice(8), value as NodeAccount | undefined);
    else if (key.startsWith('/s/Replica/')) this.#applyReplicaStatus(key.slice(11), statusIn(value));
    else if (key.startsWith('/o/Replica/'))
      this.#applyReplica(key.slice(11), value as Stored<Replica> | undefined);
    else if (key.startsWith('/a/tenant/'))
      this.tenant(key.slice(10)).account = (value as TenantAccount | undefined) ?? emptyTenantAccount;
    else if (key.startsWith('/a/workload/')) this.#applyWorkloadAccount(key.slice(12), value);
    else if (key.startsWith('/e/')) this.nodes.setEpoch(key.slice(3), value as NodeEpoch | undefined);
    else if (key.startsWith('/o/')) this.#applyObject(key, value);
    else if (key.startsWith('/s/')) this.#applyStatus(key, statusIn(value));
  }

  #applyObject(key: string, value: unknown): void {
    const [, , kind, namespace = '', name = ''] = key.split('/');
    switch (kind) {
      case 'Node':
        this.nodes.setNode(name, value as StoredNode | undefined);
        break;
      case 'Tenant':
        this.tenant(name).spec = (value as Stored<Tenant> | undefined)?.spec;
        break;
      case 'Region':
        this.placesVersion += 1;
        put(this.regions, name, (value as Stored<Region> | undefined)?.spec);
        break;
      case 'PriorityClass':
        this.placesVersion += 1;
        put(this.priorityClasses, name, (value as Stored<PriorityClass> | undefined)?.spec);
        break;
      case 'Workload':
        this.workload(namespace, name).stored = value as Stored<Workload> | undefined;
        this.#forgetWorkload(`${namespace}/${name}`);
        break;
      case 'WorkloadRevision':
        this.#applyRevision(namespace, `${namespace}/${name}`, value as Stored<WorkloadRevision> | undefined);
        break;
      case 'Gang':
        this.#changeGang(`${namespace}/${name}`, { stored: value as Stored<Gang> | undefined });
        break;
      case 'Reservation':
        this.#changeReservation(namespace, name, { stored: value as Stored<Reservation> | undefined });
        break;
      // Other kinds have no part in where work goes.
      default:
    }
  }

  #applyStatus(key: string, status: unknown): void {
    const [, , kind, namespace = '', name = ''] = key.split('/');
    if (kind === 'Node') this.nodes.setStatus(name, status as NodeStatus | undefined);
    else if (kind === 'Gang') this.#changeGang(`${namespace}/${name}`, { status: status as Gang['status'] });
    else if (kind === 'Reservation')
      this.#changeReservation(namespace, name, { status: status as Reservation['status'] });
  }

  #applyRevision(tenant: string, key: ClassKey, revision: Stored<WorkloadRevision> | undefined): void {
    const classes = made(this.#classes, tenant, () => new TenantClasses());
    put(this.#revisions, key, revision);
    classes.set(key, revision);
    // Of the whole cell: a tenant that is forgotten and comes again never has a version twice.
    classes.version = this.#revisionChanges += 1;
    if (classes.size === 0) this.#classes.delete(tenant);
  }

  #applyWorkloadAccount(key: string, value: unknown): void {
    const [tenant = '', name = ''] = key.split('/');
    this.workload(tenant, name).account = (value as WorkloadAccount | undefined) ?? emptyWorkloadAccount;
    this.#forgetWorkload(key);
  }

  /** What nothing is known of any more is not kept. */
  #forgetWorkload(key: string): void {
    const state = this.#workloads.get(key);
    if (
      state?.stored === undefined &&
      state?.account === emptyWorkloadAccount &&
      state.assumedZones.size === 0 &&
      state.failures.size === 0
    )
      this.#workloads.delete(key);
  }

  #applyReplica(key: string, stored: Stored<Replica> | undefined): void {
    const state = this.#replicaAt(key, stored);
    state.uid = stored?.metadata.uid ?? state.uid;
    state.stored = stored;
    state.workload ??= stored?.spec.workload;
    if (stored === undefined) {
      this.#giveUp(state.uid);
      if (state.status === undefined) this.#replicas.delete(key);
    }
  }

  #applyReplicaStatus(key: string, status: ReplicaStatus | undefined): void {
    const state = this.#replicaAt(key);
    const before = state.status;
    state.status = status;
    if (isCharged(before) !== isCharged(status) || before?.charge?.node !== status?.charge?.node) {
      move(this.#chargesOn, state, isCharged(before) ? before?.charge?.node : undefined, -1);
      move(this.#chargesOn, state, isCharged(status) ? status?.charge?.node : undefined, 1);
    }
    const node = status?.charge?.node ?? before?.charge?.node;
    if (node !== undefined) this.nodes.occupantsChanged(node);
    if ((before?.stage === 'Failed') !== (status?.stage === 'Failed'))
      this.#countFailure(state, before?.stage === 'Failed' ? before : status, before?.stage === 'Failed');
    if (status === undefined || isTerminal(status.stage)) this.#giveUp(state.uid);
    else if (!waits(status.stage)) this.#assumptions.drop(state.uid);
    if (before?.stage === 'Unknown' && status?.stage !== 'Unknown' && node !== undefined)
      this.#easings.push({ kind: 'Found', tenant: state.tenant, node });
    if (status === undefined && state.stored === undefined) this.#replicas.delete(key);
  }

  #countFailure(
    { tenant, workload }: ReplicaState,
    status: ReplicaStatus | undefined,
    isGone: boolean,
  ): void {
    const node = status?.binding?.node;
    if (node === undefined || workload === undefined) return;
    const { failures } = this.workload(tenant, workload);
    const count = (failures.get(node) ?? 0) + (isGone ? -1 : 1);
    if (count > 0) failures.set(node, count);
    else failures.delete(node);
    this.nodes.memoryChanged(node);
    if (isGone) this.#forgetWorkload(`${tenant}/${workload}`);
  }

  #replicaAt(key: string, stored?: Stored<Replica>): ReplicaState {
    return made(this.#replicas, key, () => {
      const slash = key.indexOf('/');
      // The object's own strings where it is there: there are very many replicas.
      return {
        tenant: stored?.metadata.namespace ?? key.slice(0, slash),
        name: stored?.metadata.name ?? key.slice(slash + 1),
        uid: '',
        workload: undefined,
        stored: undefined,
        status: undefined,
      };
    });
  }

  #changeGang(key: string, change: Partial<GangState>): void {
    const state = made<GangState>(this.#gangs, key, () => ({ stored: undefined, status: undefined }));
    Object.assign(state, change);
    if (state.status?.state === 'Reserving') this.#reservingGangs.add(key);
    else this.#reservingGangs.delete(key);
    if (state.stored === undefined && state.status === undefined) this.#gangs.delete(key);
  }

  #changeReservation(tenant: string, name: string, change: Partial<ReservationState>): void {
    const key = `${tenant}/${name}`;
    const state = made<ReservationState>(this.#reservations, key, () => ({
      tenant,
      name,
      stored: undefined,
      status: undefined,
    }));
    const nodeOf = (): string | undefined =>
      state.status?.state === 'Held' ? state.status.charge?.node : undefined;
    const before = nodeOf();
    Object.assign(state, change);
    const after = nodeOf();
    if (before !== after) {
      move(this.#holdsOn, state, before, -1);
      move(this.#holdsOn, state, after, 1);
    }
    if (state.stored === undefined && state.status === undefined) this.#reservations.delete(key);
  }
}

const waits = (stage: Stage): boolean => stage === 'Admitted' || stage === 'Queued';

/** Whether accounts count it: it has a charge and has not ended. */
const isCharged = (status: ReplicaStatus | undefined): boolean =>
  status?.charge !== undefined && !isTerminal(status.stage);

function statusIn<T>(value: unknown): T | undefined {
  return (value as { readonly status: T } | undefined)?.status;
}

function made<T>(map: Map<string, T>, key: string, make: () => T): T {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function put<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

function move<T>(sets: Map<string, Set<T>>, member: T, key: string | undefined, more: 1 | -1): void {
  if (key === undefined) return;
  if (more === 1) {
    made(sets, key, () => new Set<T>()).add(member);
    return;
  }
  const set = sets.get(key);
  if (set?.delete(member) === true && set.size === 0) sets.delete(key);
}
