import { amountOf } from '../model/amount.js';
import type { PriorityClass } from '../model/kinds/priority-class.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Tenant } from '../model/kinds/tenant.js';
import type { Workload } from '../model/kinds/workload.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import type { Records } from '../model/ports.js';
import { type NodeAccount, objectKey, type TenantAccount } from '../model/records.js';
import type { PendingReplica } from './contract.js';
import { CellTotal } from './cell-total.js';
import type { GangDriver } from './gang-driver.js';
import { type HeldReplicas, statusIn } from './held-replicas.js';
import { type Cure, curesOf, curesOfEasing, type Easing } from './queue/cures.js';
import { CuresOfAMoment } from './queue/cures-of-a-moment.js';
import type { LotFacts } from './queue/lots.js';
import type { PendingQueue } from './queue/pending-queue.js';

export interface IntakeParts {
  readonly records: Records;
  readonly queue: PendingQueue;
  readonly held: HeldReplicas;
  readonly gangs: GangDriver;
  /** The picture of the cell, which is told of everything. */
  readonly cell: { apply(key: string, value: unknown): void; takeEasings(): readonly Easing[] };
  /** Whether a workload is this scheduler's. */
  readonly isOwn: (tenant: string, workload: string) => boolean;
  readonly nowMs: () => number;
  readonly onJoin: (lot: string, replica: PendingReplica) => void;
  /** Something may be there to do. */
  readonly onNews: () => void;
}

/** By these nothing is placed: leases are renewed all the time, slots, marks and events are for others. */
const isIgnored = (key: string): boolean => {
  const part = key[1];
  if (part === 'l' || part === 't' || part === 'm') return true;
  return key.startsWith('/o/Event/') || key.startsWith('/s/Event/');
};
/** Records whose last value is kept, to see what their next one cures. */
const compared = ['/a/', '/o/Node/', '/s/Node/', '/o/Workload/'] as const;

/**
 * Takes in the records of the cell: who waits goes into the queue, who holds capacity among the held, and a change
 * that could cure a reason is remembered until `wakeUp`, so that a thousand changes of a moment wake once.
 */
export class Intake {
  readonly #total = new CellTotal();
  readonly #before = new Map<string, unknown>();
  // By `TENANT/NAME`, the uid that is in the queue or among the held.
  readonly #uids = new Map<string, string>();
  readonly #cures = new CuresOfAMoment();
  readonly #faintCures = new CuresOfAMoment();
  #isTotalNew = false;
  #arePrioritiesNew = false;

  constructor(private readonly parts: IntakeParts) {}

  get hasCures(): boolean {
    return this.#cures.size > 0;
  }

  /** Whether `wakeUpFaintly` has something to do. */
  get hasFaintCures(): boolean {
    return this.#faintCures.size > 0;
  }

  take(key: string, value: unknown): void {
    if (isIgnored(key)) return;
    const { cell, held, onNews } = this.parts;
    cell.apply(key, value);
    if (key.startsWith('/s/Replica/')) return this.#statusChanged(key.slice('/s/Replica/'.length), value);
    if (key.startsWith('/o/Replica/')) return this.#lookAt(key.slice('/o/Replica/'.length));
    if (held.changed(key)) onNews();
    if (key.startsWith('/s/Reservation/') || key.startsWith('/s/Gang/') || key.startsWith('/o/Gang/'))
      this.#gangChanged(key);
    const before = this.#before.get(key);
    for (const cure of curesOf(key, before, value)) this.#remember(cure);
    if (value === undefined) this.#before.delete(key);
    else if (compared.some((prefix) => key.startsWith(prefix))) this.#before.set(key, value);
    this.#note(key, value);
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

  /** The same for changes that come often and seldom cure anything. */
  wakeUpFaintly(): void {
    this.#faintCures.wake(this.parts.queue);
  }

  /** Takes in what the picture of the cell knows and no record says. */
  takeEasings(): void {
    const { cell, records } = this.parts;
    for (const easing of cell.takeEasings()) {
      const account = records.read(`/a/node/${easing.node}`) as NodeAccount | undefined;
      for (const cure of curesOfEasing(easing, account)) this.#remember(cure);
    }
  }

  #note(key: string, value: unknown): void {
    const { queue } = this.parts;
    if (key.startsWith('/a/node/')) {
      if (this.#total.set(key.slice('/a/node/'.length), value as NodeAccount | undefined))
        this.#isTotalNew = true;
    } else if (key.startsWith('/a/tenant/')) {
      const tenant = key.slice('/a/tenant/'.length);
      queue.shares.setUsed(tenant, (value as TenantAccount | undefined)?.used ?? {});
      queue.reorder(tenant);
    } else if (key.startsWith('/o/Tenant/_/')) {
      const tenant = key.slice('/o/Tenant/_/'.length);
      queue.shares.setWeight(tenant, (value as Tenant | undefined)?.spec.weight ?? 1);
      queue.reorder(tenant);
    } else if (key.startsWith('/o/PriorityClass/')) this.#arePrioritiesNew = true;
  }

  #remember(cure: Cure): void {
    (cure.isFaint ? this.#faintCures : this.#cures).add(cure);
    this.parts.onNews();
  }

  #gangChanged(key: string): void {
    const { gangs, onNews } = this.parts;
    const [, , kind, tenant = '', name = ''] = key.split('/');
    if (kind === 'Gang') gangs.stateChanged();
    else gangs.changed(tenant);
    onNews();
    // Members of a gang that has started are replicas like others.
    if (kind === 'Gang' && gangs.hasStarted(tenant, name))
      for (const member of gangs.membersOf(tenant, name)) this.#lookAt(`${tenant}/${member.name}`);
  }

  /** Most changes are of those that are placed already, or have just been: nothing more need be known of them. */
  #statusChanged(key: string, value: unknown): void {
    // A parsed boundary: only statuses of replicas stand under these keys.
    const stage = (value as { readonly status: Replica['status'] } | undefined)?.status?.stage;
    if (stage === 'Queued' || stage === 'Scheduled') return this.#lookAt(key);
    const known = this.#uids.get(key);
    if (known === undefined) return;
    this.#forget(known);
    this.#uids.delete(key);
  }

  /** Puts a replica where it belongs now. */
  #lookAt(key: string): void {
    const { records, queue, held, gangs, onNews } = this.parts;
    const status = statusIn<Replica>(records, `/s/Replica/${key}`);
    // Its parts come one after the other: it is looked at with the second.
    const stored =
      status === undefined ? undefined : (records.read(`/o/Replica/${key}`) as Replica | undefined);
    const uid = stored?.metadata.uid;
    const known = this.#uids.get(key);
    const isHeld = status?.stage === 'Scheduled' && status.hold !== undefined;
    const isPending =
      (status?.stage === 'Queued' || isHeld) && stored?.metadata.deletionTimestamp === undefined;
    if (known !== undefined && (known !== uid || !isPending)) this.#forget(known);
    if (stored === undefined || uid === undefined || !isPending) {
      this.#uids.delete(key);
      return;
    }
    const { workload, slot, revision, gang } = stored.spec;
    const { namespace: tenant = '', name } = stored.metadata;
    if (!this.parts.isOwn(tenant, workload)) return;
    this.#uids.set(key, uid);
    const replica: PendingReplica = {
      tenant,
      name,
      uid,
      classKey: `${tenant}/${revision}`,
      workload,
      slot,
      sinceMs: this.parts.nowMs(),
      ...(gang !== undefined && { gang }),
    };
    const hold = isHeld ? status.hold : undefined;
    if (gang !== undefined && !gangs.hasStarted(tenant, gang)) gangs.add(replica, gang);
    else gangs.remove(uid);
    if (hold !== undefined) {
      queue.remove(uid);
      held.add({ tenant, name, uid, hold, ...(gang !== undefined && { gang }) });
    } else {
      held.remove(uid);
      const isWaitingForGang = gang !== undefined && !gangs.hasStarted(tenant, gang);
      if (!isWaitingForGang && queue.stateOf(uid) === undefined) {
        const facts = this.#factsOf(replica);
        queue.add(replica, facts);
        this.parts.onJoin(facts.lot, replica);
      }
    }
    onNews();
  }

  #forget(uid: string): void {
    const { queue, held, gangs } = this.parts;
    queue.remove(uid);
    held.remove(uid);
    gangs.remove(uid);
  }

  #factsOf({ tenant, workload, slot, classKey }: PendingReplica): LotFacts {
    const { records } = this.parts;
    const isDaemon =
      (records.read(objectKey('Workload', tenant, workload)) as Workload | undefined)?.spec.type === 'Daemon';
    return {
      lot: isDaemon ? `${classKey} ${slot}` : classKey,
      priority: this.#priorityOf(classKey),
      amount: amountOf(this.#revision(classKey)?.spec.template.resources ?? {}),
    };
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
