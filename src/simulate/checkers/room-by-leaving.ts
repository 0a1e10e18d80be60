import type { Node } from '../../model/kinds/node.js';
import { type CellView, placeOf } from './cell-view.js';
import type { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import { accountWithout, canLeave, hasRoom, isWithinGuarantee, type Waiting } from './node-fit.js';

/** The rank that a charge has, or would have. */
interface Rank {
  readonly isGuaranteed: boolean;
  readonly priority: number;
}

/** The room that others could make for a replica, or make already: by the ranks and limits that the records show. */
export class RoomByLeaving {
  constructor(
    private readonly cell: CellView,
    private readonly book: ChargeBook,
  ) {}

  /** Whether a replica may have others asked to leave at all. */
  mayPreempt({ revision }: Waiting): boolean {
    return this.#classOf(revision.priorityClassName)?.preemption !== 'Never';
  }

  /** Whether it fits there once replicas have left that rank below and may leave together. */
  canBeMade({ metadata: { name } }: Node, waiting: Waiting): boolean {
    const account = this.cell.nodeAccount(name);
    const victims = this.#victimsOn(name, waiting);
    return (
      account !== undefined &&
      victims.length > 0 &&
      hasRoom(accountWithout(account, victims), waiting.revision)
    );
  }

  /** Whether it fits there once all have left that leave already, but for those that a hold awaits. */
  isComing({ metadata: { name } }: Node, { revision }: Waiting): boolean {
    const account = this.cell.nodeAccount(name);
    const leaving = [...this.book.chargesOnNode(name)].filter(({ key }) => this.#isLeaving(key));
    return account !== undefined && leaving.length > 0 && hasRoom(accountWithout(account, leaving), revision);
  }

  /** Keeps the limit of each workload, but for borrowers that a guarantee reclaims. */
  #victimsOn(node: string, waiting: Waiting): readonly LiveCharge[] {
    const { tenant, replica, revision } = waiting;
    const own: Rank = {
      isGuaranteed: isWithinGuarantee(this.cell, tenant, revision),
      priority: this.#classOf(revision.priorityClassName)?.value ?? 0,
    };
    const left = new Map<string, number>();
    return [...this.book.chargesOnNode(node)].filter((live) => {
      const { tenant: owner, workload = '', rank } = live.charge;
      const isOwn = owner === tenant && workload === replica.spec.workload;
      if (isOwn || !canLeave(this.cell, live.key) || !isAbove(own, this.#rankOf(live))) return false;
      if (own.isGuaranteed && rank === 'Borrowed') return true;
      const limited = `${owner}/${workload}`;
      const more = left.get(limited) ?? this.#disruptionsLeft(owner, workload);
      left.set(limited, more - 1);
      return more > 0;
    });
  }

  #rankOf({ charge: { tenant, revision = '', rank } }: LiveCharge): Rank {
    const spec = this.cell.object('WorkloadRevision', tenant, revision)?.spec;
    return {
      isGuaranteed: rank === 'Guaranteed',
      priority: this.#classOf(spec?.priorityClassName)?.value ?? 0,
    };
  }

  #disruptionsLeft(tenant: string, workload: string): number {
    const spec = this.cell.object('Workload', tenant, workload)?.spec;
    const disrupted = this.cell.workloadAccount(tenant, workload)?.disrupted ?? 0;
    return (spec?.disruption?.maxUnavailable ?? 1) - disrupted;
  }

  #isLeaving(key: string): boolean {
    const place = placeOf(key);
    if (place?.kind !== 'Replica') return false;
    const status = this.cell.object('Replica', place.tenant, place.name)?.status;
    const [tenant = '', hold = ''] = status?.awaitedBy?.split('/') ?? [];
    const isAwaited = this.cell.object('Reservation', tenant, hold)?.status?.state === 'Held';
    return status?.stage === 'Releasing' && !isAwaited;
  }

  #classOf(name = 'default') {
    return this.cell.object('PriorityClass', undefined, name)?.spec;
  }
}

/** Guaranteed before Borrowed, then by priority. */
const isAbove = (a: Rank, b: Rank): boolean =>
  a.isGuaranteed === b.isGuaranteed ? a.priority > b.priority : a.isGuaranteed;
