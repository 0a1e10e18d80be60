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
import { type Easing, lowerOf, type Outranked } from './queue/cures.js';
import {
  canLeave,
  chargedNode,
  failedOn,
  isOfReplica,
  namesIn,
  type ReplicaState,
  ReplicaStates,
} from './replica-states.js';
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
  readonly #replicas = new ReplicaStates();
  readonly #gangs = new Map<string, GangState>();
  readonly #reservingGangs = new Set<string>();
  readonly #reservations = new Map<string, ReservationState>();
  readonly #holdsOn = new Map<string, Set<ReservationState>>();
  readonly #assumptions = new Assumptions(this);
  #easings: Easing[] = [];
  // The lowest rank among replicas that became evictable since the easings were taken.
  #came: Outranked | undefined;

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

  /** Another one after every change of a revision. */
  get revisionsVersion(): number {
    return this.#revisionChanges;
  }

  revision(key: ClassKey): Stored<WorkloadRevision> | undefined {
    return this.#revisions.get(key);
  }

  classesOf(tenant: string): Omit<TenantClasses, 'set'> {
    return this.#classes.get(tenant) ?? noClasses;
  }

  replica(tenant: string, name: string): ReplicaState | undefined {
    return this.#replicas.get(tenant, name);
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

  /** The replicas that a node is charged with, in the order that they were. */
  chargesOn(node: string): readonly ReplicaState[] {
    return this.#replicas.chargesOn(node);
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

  get hasEasings(): boolean {
    return this.#easings.length > 0 || this.#came !== undefined;
  }

  /** What got easier since the last call without a record that says so. At most as many as were assumed, or came back. */
  takeEasings(): readonly Easing[] {
    if (!this.hasEasings) return this.#easings;
    const easings = this.#easings;
    if (this.#came !== undefined) easings.push({ kind: 'Came', above: this.#came });
    this.#easings = [];
    this.#came = undefined;
    return easings;
  }

  #giveUp(uid: string): void {
    const dropped = this.#assumptions.drop(uid);
    if (dropped === undefined) return;
    const { of, row } = dropped;
    this.#easings.push({ kind: 'GivenUp', tenant: of.tenant, node: this.nodes.names[row] ?? '' });
  }

  isAssumed({ uid }: { readonly uid: string }): boolean {
    return this.#assumptions.has(uid);
  }

  /**
   * What stands under a key now; undefined if it is gone. A parsed boundary: only admitted records stand there. Returns
   * the replica that the record is a part of, as it is now.
   */
  apply(key: string, value: unknown): ReplicaState | undefined {
    // By single characters: this is asked of every change of the cell, and nearly all are of replicas and accounts.
    switch (key.charCodeAt(1)) {
      case letter.s:
        if (isOfReplica(key)) return this.#applyReplicaStatus(key, statusIn(value));
        this.#applyStatus(key, statusIn(value));
        break;
      case letter.o:
        if (isOfReplica(key)) return this.#applyReplica(key, value as Stored<Replica> | undefined);
        this.#applyObject(key, value);
        break;
      case letter.a:
        this.#applyAccount(key, value);
        break;
      case letter.e:
        this.nodes.setEpoch(key.slice(3), value as NodeEpoch | undefined);
        break;
      // Nothing else has a part in where work goes.
      default:
    }
    return undefined;
  }

  #applyAccount(key: string, value: unknown): void {
    if (key.startsWith('/a/node/')) this.nodes.setAccount(key.slice(8), value as NodeAccount | undefined);
    else if (key.startsWith('/a/tenant/'))
      this.tenant(key.slice(10)).account = (value as TenantAccount | undefined) ?? emptyTenantAccount;
    else if (key.startsWith('/a/workload/')) this.#applyWorkloadAccount(key.slice(12), value);
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

  #applyReplica(key: string, stored: Stored<Replica> | undefined): ReplicaState {
    // The object's own strings where it is there: they are kept anyway.
    const { namespace: tenant = '', name } = stored?.metadata ?? namesIn(key);
    const state = this.#replicas.at(tenant, name);
    const before = state.stored;
    const failedBefore = failedOn(state);
    state.stored = stored;
    if (before !== undefined && before.metadata.uid !== stored?.metadata.uid)
      this.#giveUp(before.metadata.uid);
    this.#moveFailure(tenant, before ?? stored, failedBefore, failedOn(state));
    if (stored === undefined && state.status === undefined) this.#replicas.delete(tenant, name);
    return state;
  }

  #applyReplicaStatus(key: string, status: ReplicaStatus | undefined): ReplicaState {
    const { namespace: tenant, name } = namesIn(key);
    const state = this.#replicas.at(tenant, name);
    const before = state.status;
    const failedBefore = failedOn(state);
    state.status = status;
    this.#replicas.moveCharge(state, chargedNode(before), chargedNode(status));
    const node = status?.charge?.node ?? before?.charge?.node;
    if (node !== undefined) this.nodes.occupantsChanged(node);
    this.#moveFailure(tenant, state.stored, failedBefore, failedOn(state));
    const uid = state.stored?.metadata.uid;
    if (uid !== undefined) {
      if (status === undefined || isTerminal(status.stage)) this.#giveUp(uid);
      else if (!waits(status.stage)) this.#shown(uid, tenant, status);
      else if (hasReturned(before, status)) this.#giveUp(uid);
    }
    if (hasReturned(before, status)) state.hasReturned = true;
    if (node !== undefined) this.#noteEasing(state, before, node, tenant);
    if (status === undefined && state.stored === undefined) this.#replicas.delete(tenant, name);
    return state;
  }

  /** Ends the assumption of a replica that is charged now; where the charge is another one, the assumed place is given up. */
  #shown(uid: string, tenant: string, { charge, hold }: ReplicaStatus): void {
    const dropped = this.#assumptions.drop(uid);
    if (dropped === undefined) return;
    const { row, isBorrowed } = dropped;
    const node = this.nodes.names[row] ?? '';
    const held = hold === undefined ? undefined : this.reservation(tenant, hold);
    const real = charge ?? held?.status?.charge;
    const isThere = (real?.node ?? held?.stored?.spec.node) === node;
    const isRankedSo = real === undefined || (real.rank === 'Borrowed') === isBorrowed;
    if (!isThere || !isRankedSo) this.#easings.push({ kind: 'GivenUp', tenant, node });
  }

  /** Notes a change of a charged replica that lets others find room and shows in no account. */
  #noteEasing(
    { stored, status }: ReplicaState,
    before: ReplicaStatus | undefined,
    node: string,
    tenant: string,
  ): void {
    const stage = status?.stage;
    if (before?.stage === 'Unknown' && stage !== 'Unknown')
      this.#easings.push({ kind: 'Found', tenant, node });
    const isComing = stage === 'Releasing' || stage === undefined || isTerminal(stage);
    if (before?.stage === 'Releasing' && (!isComing || status?.awaitedBy !== before.awaitedBy))
      this.#easings.push({ kind: 'NotComing', tenant, node });
    if (status === undefined || !canLeave(status.stage) || (before !== undefined && canLeave(before.stage)))
      return;
    const revision = this.revision(`${tenant}/${stored?.spec.revision ?? ''}`);
    const priority = this.priorityClasses.get(revision?.spec.priorityClassName ?? 'default')?.value ?? 0;
    this.#came = lowerOf(this.#came, { priority, isBorrowed: status.charge?.rank === 'Borrowed' });
  }

  /** The node that a replica has failed on is another one now: none before, or none any more. */
  #moveFailure(
    tenant: string,
    stored: Stored<Replica> | undefined,
    before: string | undefined,
    after: string | undefined,
  ): void {
    if (before === after || stored === undefined) return;
    const { workload } = stored.spec;
    const { failures } = this.workload(tenant, workload);
    for (const [node, more] of [[before, -1] as const, [after, 1] as const]) {
      if (node === undefined) continue;
      const count = (failures.get(node) ?? 0) + more;
      if (count > 0) failures.set(node, count);
      else failures.delete(node);
      this.nodes.memoryChanged(node);
    }
    this.#forgetWorkload(`${tenant}/${workload}`);
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

const letter = { a: 97, e: 101, o: 111, s: 115 } as const;

/** Whether a replica left its stage and came back to it between two statuses: a watch that begins anew skips the rest. */
const hasReturned = (before: ReplicaStatus | undefined, after: ReplicaStatus | undefined): boolean =>
  before !== undefined &&
  before.stage === after?.stage &&
  (waits(after.stage) || after.stage === 'Scheduled') &&
  before.transitions?.at(-1)?.operation !== after.transitions?.at(-1)?.operation;

const waits = (stage: Stage): boolean => stage === 'Admitted' || stage === 'Queued';

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
