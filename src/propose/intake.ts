import { amountOf } from '../model/amount.js';
import type { PriorityClass } from '../model/kinds/priority-class.js';
import type { Tenant } from '../model/kinds/tenant.js';
import type { Workload } from '../model/kinds/workload.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import { plus } from '../model/plus.js';
import type { Records, ReplicaRef } from '../model/ports.js';
import { type NodeAccount, nodeAccountKey, objectKey, type TenantAccount } from '../model/records.js';
import type { ReplicaState } from './replica-states.js';
import type { ClassKey, PendingReplica } from './contract.js';
import { CellTotal } from './cell-total.js';
import type { GangDriver } from './gang-driver.js';
import type { HeldReplicas } from './held-replicas.js';
import type { Cure, Cures, Easing, Outranked } from './queue/cures.js';
import { CuresOfAMoment } from './queue/cures-of-a-moment.js';
import type { LotFacts } from './queue/lots.js';
import type { PendingQueue } from './queue/pending-queue.js';

export interface IntakeParts {
  readonly records: Records;
  readonly queue: PendingQueue;
  readonly held: HeldReplicas;
  readonly gangs: GangDriver;
  readonly cures: Cures;
  /** The picture of the cell, which is told of everything. */
  readonly cell: {
    /** Returns the replica that the record is a part of. */
    apply(key: string, value: unknown): ReplicaState | undefined;
    replica(tenant: string, name: string): ReplicaState | undefined;
    takeEasings(): readonly Easing[];
    readonly hasEasings: boolean;
  };
  /** Whether a workload is this scheduler's. */
  readonly isOwn: (tenant: string, workload: string) => boolean;
  readonly onJoin: (lot: string, replica: PendingReplica) => void;
  /** Something may be there to do. */
  readonly onNews: () => void;
}

/** By these nothing is placed: leases are renewed all the time, slots, marks and events are for others. */
const isIgnored = (key: string): boolean => {
  const part = key[1];
  if (part === 'l' || part === 't' || part === 'm') return true;
  return (part === 'o' || part === 's') && key.startsWith('Event/', 3);
};
/** Records whose last value is kept, to see what their next one cures. */
const isCompared = (key: string): boolean =>
  key[1] === 'a' || key[1] === 'e' || key.startsWith('Node/', 3) || key.startsWith('/o/Workload/');

type Stored = NonNullable<ReplicaState['stored']>;

/** What replicas of one revision have in common, and of their lot where that is the whole class. */
interface ClassFacts extends LotFacts {
  readonly tenant: string;
  readonly workload: string;
  readonly revision: string;
  readonly classKey: ClassKey;
  readonly isOwn: boolean;
  readonly isDaemon: boolean;
}

/**
 * Takes in the records of the cell: who waits goes into the queue, who holds capacity among the held, and a change
 * that could cure a reason is remembered until `wakeUp`, so that a thousand changes of a moment wake once.
 */
export class Intake {
  readonly #total = new CellTotal();
  readonly #before = new Map<string, unknown>();
  readonly #cures = new CuresOfAMoment();
  readonly #faintCures = new CuresOfAMoment();
  // The class that was looked up last, until an object changes that could say otherwise: replicas of a class come
  // hundreds at a time.
  #class: ClassFacts | undefined;
  #isTotalNew = false;
  #arePrioritiesNew = false;

  constructor(private readonly parts: IntakeParts) {}

  get hasCures(): boolean {
    return this.#cures.size > 0;
  }

  /** Whether a change has come for `wakeUpFaintly`. */
  get hasFaintCures(): boolean {
    return this.#faintCures.size > 0;
  }

  /** See `CuresOfAMoment.above`. */
  get faintAbove(): Outranked | undefined {
    return this.#faintCures.above;
  }

  /** Whether a lot is parked that time alone can cure. */
  get waitsForTime(): boolean {
    const { queue, cures } = this.parts;
    return cures.ofTime().reasons.some((reason) => queue.isParkedUnder(reason));
  }

  take(key: string, value: unknown, nowMs: number): void {
    if (isIgnored(key)) return;
    const { cell, held, queue, gangs, onNews } = this.parts;
    const replica = cell.apply(key, value);
    // Nearly all that changes in a cell.
    if (replica !== undefined) {
      this.#lookAt(replica, nowMs);
      // Without a waiting replica an easing is of no use yet.
      if (cell.hasEasings && queue.size + gangs.size > 0) onNews();
      return;
    }
    if (key[1] === 'o') this.#class = undefined;
    if (held.changed(key)) onNews();
    if (key.startsWith('/s/Reservation/') || key.startsWith('Gang/', 3)) this.#gangChanged(key, nowMs);
    const before = this.#before.get(key);
    for (const cure of this.parts.cures.ofRecord(key, before, value)) this.#remember(cure);
    this.#note(key, before, value);
    if (value === undefined) this.#before.delete(key);
    else if (isCompared(key)) this.#before.set(key, value);
  }

  /** Wakes what the changes since the last call could have cured. */
  wakeUp(): void {
    const { queue } = this.parts;
    if (this.#arePrioritiesNew) queue.reprioritize((classKey) => this.#priorityOf(classKey));
    if (this.#isTotalNew) {
      queue.shares.setTotal(this.#total.amount);
      queue.reorderAll();
    }
    this.#isTotalNew = this.#arePrioritiesNew = false;
    this.#cures.wake(queue);
  }

  /** The same for changes that come often and seldom cure anything, and for time. */
  wakeUpFaintly(): void {
    const { queue, cures } = this.parts;
    this.#faintCures.add(cures.ofTime());
    this.#faintCures.wake(queue);
  }

  /** Takes in what the picture of the cell knows and no record says. */
  takeEasings(): void {
    const { cell, records, cures } = this.parts;
    for (const easing of cell.takeEasings()) {
      const account =
        easing.kind === 'Came'
          ? undefined
          : (records.read(nodeAccountKey(easing.node)) as NodeAccount | undefined);
      for (const cure of cures.ofEasing(easing, account)) this.#remember(cure);
    }
  }

  /** Takes a replica out and puts it where it belongs now. */
  lookAgain({ tenant, name, uid }: ReplicaRef, nowMs: number): void {
    this.#forget(uid);
    const state = this.parts.cell.replica(tenant, name);
    if (state === undefined) return;
    state.waitsAs = undefined;
    this.#lookAt(state, nowMs);
  }

  #note(key: string, before: unknown, value: unknown): void {
    const { queue } = this.parts;
    if (key.startsWith('/a/node/')) {
      if (this.#total.move(before as NodeAccount | undefined, value as NodeAccount | undefined))
        this.#isTotalNew = true;
    } else if (key.startsWith('/a/tenant/')) {
      const tenant = key.slice('/a/tenant/'.length);
      queue.shares.setUsed(tenant, (value as TenantAccount | undefined)?.used ?? {});
      queue.reorder(tenant);
    } else if (key.startsWith('/o/Tenant/_/')) {
      const tenant = key.slice('/o/Tenant/_/'.length);
      const { weight, guaranteed } = (value as Tenant | undefined)?.spec ?? {};
      queue.shares.setWeight(tenant, weight ?? 1);
      queue.shares.setGuaranteed(tenant, guaranteed !== undefined);
      queue.reorder(tenant);
    } else if (key.startsWith('/o/PriorityClass/')) this.#arePrioritiesNew = true;
  }

  #remember(cure: Cure): void {
    (cure.isFaint ? this.#faintCures : this.#cures).add(cure);
    this.parts.onNews();
  }

  #gangChanged(key: string, nowMs: number): void {
    const { cell, gangs, onNews } = this.parts;
    const [, , kind, tenant = '', name = ''] = key.split('/');
    if (kind === 'Gang') gangs.stateChanged();
    else gangs.changed(tenant);
    onNews();
    // Members of a gang that has started are replicas like others.
    if (kind === 'Gang' && gangs.hasStarted(tenant, name))
      for (const member of gangs.membersOf(tenant, name)) {
        const replica = cell.replica(tenant, member.name);
        if (replica !== undefined) this.#lookAt(replica, nowMs);
      }
  }

  /** Puts a replica where it belongs now. Its parts come one after the other: it is looked at with the second. */
  #lookAt(state: ReplicaState, nowMs: number): void {
    const { stored, status } = state;
    const hold = status?.stage === 'Scheduled' ? status.hold : undefined;
    const isPending =
      (status?.stage === 'Queued' || hold !== undefined) && stored?.metadata.deletionTimestamp === undefined;
    const uid = stored?.metadata.uid;
    if (state.waitsAs !== undefined && (!isPending || state.waitsAs !== uid || state.hasReturned)) {
      this.#forget(state.waitsAs);
      state.waitsAs = undefined;
    }
    state.hasReturned = false;
    // Most changes are of those that are placed already, or have just been.
    if (!isPending || stored === undefined || uid === undefined) return;
    const facts = this.#factsOf(stored);
    if (!facts.isOwn) return;
    const { queue, held, gangs, onNews } = this.parts;
    const { gang } = stored.spec;
    const { tenant } = facts;
    const isWaitingForGang = gang !== undefined && !gangs.hasStarted(tenant, gang);
    // One that was nowhere need not be taken away from anywhere.
    const isNew = state.waitsAs === undefined;
    state.waitsAs = uid;
    if (isWaitingForGang) gangs.add(pendingReplica(stored, facts, nowMs), gang);
    else if (!isNew) gangs.remove(uid);
    if (hold !== undefined) {
      if (!isNew) queue.remove(uid);
      held.add({ tenant, name: stored.metadata.name, uid, hold, ...(gang !== undefined && { gang }) });
    } else {
      if (!isNew) held.remove(uid);
      if (!isWaitingForGang && (isNew || queue.stateOf(uid) === undefined))
        this.#join(pendingReplica(stored, facts, nowMs), facts);
    }
    onNews();
  }

  #join(replica: PendingReplica, facts: ClassFacts): void {
    const lot = facts.isDaemon ? `${facts.classKey} ${replica.slot}` : facts.lot;
    this.parts.queue.add(replica, facts.isDaemon ? { ...facts, lot } : facts);
    this.parts.onJoin(lot, replica);
  }

  #forget(uid: string): void {
    const { queue, held, gangs } = this.parts;
    queue.remove(uid);
    held.remove(uid);
    gangs.remove(uid);
  }

  #factsOf({ metadata: { namespace: tenant = '' }, spec }: Stored): ClassFacts {
    const { workload, revision } = spec;
    const last = this.#class;
    if (last?.revision === revision && last.tenant === tenant && last.workload === workload) return last;
    const { records, isOwn } = this.parts;
    const classKey = `${tenant}/${revision}`;
    const stored = records.read(objectKey('Workload', tenant, workload)) as Workload | undefined;
    return (this.#class = {
      tenant,
      workload,
      revision,
      classKey,
      lot: classKey,
      isOwn: isOwn(tenant, workload),
      isDaemon: stored?.spec.type === 'Daemon',
      priority: this.#priorityOf(classKey),
      amount: amountOf(this.#revision(classKey)?.spec.template.resources ?? {}),
    });
  }

  #revision(classKey: string): WorkloadRevision | undefined {
    return this.parts.records.read(`/o/WorkloadRevision/${classKey}`) as WorkloadRevision | undefined;
  }

  #priorityOf(classKey: string): number {
    const name = this.#revision(classKey)?.spec.priorityClassName ?? 'default';
    const found = this.parts.records.read(objectKey('PriorityClass', undefined, name)) as
      | PriorityClass
      | undefined;
    return found?.spec.value ?? 0;
  }
}

/** Written out: one is made for every replica, and a spread makes each larger and slower. */
function pendingReplica(
  { metadata: { name, uid }, spec: { slot, gang } }: Stored,
  { tenant, classKey, workload }: ClassFacts,
  nowMs: number,
): PendingReplica {
  // Whole ones: as many are noted in decisions as there are replicas, and fractions take longest to write.
  const sinceMs = Math.floor(nowMs);
  const replica = { tenant, name, uid, classKey, workload, slot, sinceMs };
  return gang === undefined ? replica : plus(replica, { gang });
}
