import type { Env } from '../env/env.js';
import type { Gang } from '../model/kinds/gang.js';
import type { ReplicaRef } from '../model/ports.js';
import { objectKey, statusKey } from '../model/records.js';
import type { PendingReplica, TurnMoment } from './contract.js';
import type { Why } from './explanations.js';
import { type AskedHold, GangOrders, type GangOrdersParts } from './gang-orders.js';
import type { GangPlanning } from './gang-planning.js';
import {
  type GangMember,
  type GangPlan,
  type GangStep,
  type GangView,
  nextGangSteps,
  reservingMsMax,
} from './gangs.js';
import { statusIn } from './held-replicas.js';
import { type Cures, mayRankAbove, type Outranked } from './queue/cures.js';

/** Gangs on the picture of the cell. */
export interface GangCore {
  gangView(tenant: string, name: string, sinceMs: number): GangView | undefined;
  /** `TENANT/NAME` of every gang that reserves, also of those that another scheduler drives. */
  readonly reservingGangs: ReadonlySet<string>;
  gangMember(replica: PendingReplica): GangMember | undefined;
  /** Places for at least so many of these, or for none. */
  planGang(
    replicas: readonly PendingReplica[],
    atLeast: number,
  ): Pick<GangPlanning, 'replicas' | 'isFor' | 'goOn' | 'giveUp'>;
  unassume(replica: ReplicaRef): void;
}

export interface GangDriverParts extends Omit<GangOrdersParts, 'isDriven'> {
  readonly env: Pick<Env, 'random'>;
  readonly cures: Pick<Cures, 'ofTime'>;
  /** Whether something is guaranteed to a tenant. */
  readonly isGuaranteed: (tenant: string) => boolean;
  /** How often a gang that waits for a change looks again, in case it was missed. Infinity: never. */
  readonly sweepEveryMs: number;
  readonly snapshotAgeMs: () => number;
  readonly core: GangCore;
  /** Whether a workload is this scheduler's, and so its gang. */
  readonly isOwn: (tenant: string, workload: string) => boolean;
  readonly onWait: (replica: ReplicaRef, why: Why) => void;
  readonly onNews: () => void;
}

interface DrivenGang {
  readonly tenant: string;
  readonly name: string;
  readonly members: Map<string, PendingReplica>;
  readonly jitter: number;
  state: GangView['state'] | undefined;
  /** Places for it that are being looked for: there was no time to come to an end. */
  planning: ReturnType<GangCore['planGang']> | undefined;
  /** It waits for another to come to the end of its planning. */
  isNext: boolean;
  /** A move that is under way, or committed and not seen yet; until it is refused or the record changes. */
  moved: { readonly from: GangView; readonly to: GangView['state'] } | undefined;
  sinceMs: number;
  dueMs: number;
  isBusy: boolean;
}

// As for turns of the queue: half of what others may be kept waiting for, as one step of a single gang can take as long
// again.
const sliceMs = 8;
/** A gang that waits for room is planned again when the cell changed, but not more often than this. */
const lookMs = 1_000;
/**
 * So long a gang of another shard is given way to: longer than who drives it lets it reserve. One that reserves for
 * longer has nobody who drives it, and would be waited for in vain.
 */
const giveWayMsMax = 2 * reservingMsMax;

/**
 * Brings gangs together: asks `nextGangSteps` what each needs and does it, one gang's steps at a time. Until a gang is
 * Committed its members are here and in no queue; from then on they are replicas like others.
 */
export class GangDriver {
  readonly #gangs = new Map<string, DrivenGang>();
  readonly #gangOf = new Map<string, DrivenGang>();
  // Gangs of other schedulers that reserve: in which attempt, and since when this one has seen it.
  readonly #elsewhere = new Map<string, { readonly attempts: number; readonly sinceMs: number }>();
  readonly #orders: GangOrders;
  // The one that places are being looked for in stretches. Others wait until it has come to an end: of two that each had
  // half of what there is neither would find enough.
  #planner: DrivenGang | undefined;

  constructor(private readonly parts: GangDriverParts) {
    this.#orders = new GangOrders({
      ...parts,
      isDriven: (tenant, gang) => this.#gangs.has(`${tenant}/${gang}`),
    });
  }

  /** How many gangs there are that have not started. */
  get size(): number {
    return this.#gangs.size;
  }

  get nextDueMs(): number | undefined {
    let nextMs: number | undefined;
    for (const { dueMs, isBusy } of this.#gangs.values())
      if (!isBusy && dueMs < (nextMs ?? Number.POSITIVE_INFINITY)) nextMs = dueMs;
    return nextMs;
  }

  /** Whether its gang has started, so that it is no member to be waited for any more. */
  hasStarted(tenant: string, gang: string): boolean {
    return statusIn<Gang>(this.parts.records, statusKey('Gang', tenant, gang))?.state === 'Committed';
  }

  add(replica: PendingReplica, gang: string): void {
    const key = `${replica.tenant}/${gang}`;
    let driven = this.#gangs.get(key);
    if (driven === undefined) {
      const jitter = this.parts.env.random.float();
      driven = {
        ...{ tenant: replica.tenant, name: gang, members: new Map<string, PendingReplica>(), jitter },
        ...{ state: undefined, planning: undefined, moved: undefined, sinceMs: this.parts.nowMs() },
        ...{ dueMs: 0, isBusy: false, isNext: false },
      };
      this.#gangs.set(key, driven);
    }
    driven.members.set(replica.uid, replica);
    this.#gangOf.set(replica.uid, driven);
    driven.dueMs = 0;
    this.parts.onNews();
  }

  remove(uid: string): void {
    const driven = this.#gangOf.get(uid);
    if (driven === undefined) return;
    this.#gangOf.delete(uid);
    driven.members.delete(uid);
    driven.dueMs = 0;
    // Before somebody else takes a member over.
    this.#giveUpPlanning(driven);
    if (driven.members.size === 0) this.#gangs.delete(`${driven.tenant}/${driven.name}`);
  }

  /** The members of a gang, for who takes them over once it has started. */
  membersOf(tenant: string, gang: string): readonly PendingReplica[] {
    return [...(this.#gangs.get(`${tenant}/${gang}`)?.members.values() ?? [])];
  }

  /** A gang or one of its holds changed. */
  changed(tenant: string): void {
    for (const driven of this.#gangs.values()) if (driven.tenant === tenant) driven.dueMs = 0;
  }

  /** A gang began or ended to reserve: whoever gave way to it need not any more, of whatever tenant. */
  stateChanged(): void {
    for (const driven of this.#gangs.values()) driven.dueMs = 0;
  }

  /** There may be room now; for those that may rank `above`, if it is given. */
  cured(above?: Outranked): void {
    const soonMs = this.parts.nowMs() + lookMs;
    for (const driven of this.#gangs.values())
      if (above === undefined || this.#mayRankAbove(driven, above))
        driven.dueMs = Math.min(driven.dueMs, soonMs);
  }

  #mayRankAbove({ tenant, name, sinceMs }: DrivenGang, above: Outranked): boolean {
    const { core, isGuaranteed } = this.parts;
    const { priority = 0 } = core.gangView(tenant, name, sinceMs) ?? {};
    return mayRankAbove(priority, isGuaranteed(tenant), above);
  }

  /** Takes the next steps of gangs whose time has come, for a slice. Whether there are more. */
  work(nowMs: number): boolean {
    for (const [key, driven] of this.#gangs) {
      if (driven.isBusy || driven.dueMs > nowMs) continue;
      if (this.parts.nowMs() - nowMs >= sliceMs) return true;
      // Whoever had a turn goes to the end: it may be due again before the last had one.
      this.#gangs.delete(key);
      this.#gangs.set(key, driven);
      this.#next(driven, () => this.parts.nowMs() - nowMs < sliceMs);
    }
    return false;
  }

  #next(driven: DrivenGang, mayGoOn: TurnMoment['mayGoOn']): void {
    const { records } = this.parts;
    driven.dueMs = Number.POSITIVE_INFINITY;
    const gang = this.#viewOf(driven);
    const nowMs = this.parts.nowMs();
    const stored = records.read(objectKey('Gang', driven.tenant, driven.name)) as Gang | undefined;
    if (gang === undefined || stored === undefined) return;
    const reserving = [...this.#gangs.values()].flatMap((other) => {
      const seen = other === driven || other.state !== 'Reserving' ? undefined : this.#viewOf(other);
      return seen === undefined ? [] : [seen];
    });
    reserving.push(...this.#reservingElsewhere(nowMs));
    const members = this.#membersOf(driven);
    const { jitter } = driven;
    const curedByTime = this.parts.cures.ofTime().reasons;
    let isAsked = false;
    const plan = (replicas: readonly PendingReplica[], atLeast: number): GangPlan => {
      isAsked = true;
      return this.#plan(driven, replicas, atLeast, mayGoOn) ?? { kind: 'NotReady' };
    };
    const steps = nextGangSteps(gang, members, { nowMs, jitter, reserving, plan, curedByTime });
    if (!isAsked) this.#giveUpPlanning(driven);
    if (driven.planning !== undefined) driven.dueMs = 0;
    driven.isBusy = true;
    void this.#take(driven, gang, stored.metadata.uid, steps).finally(() => {
      driven.isBusy = false;
      this.parts.onNews();
    });
  }

  /** Those that places are being looked for wait, although the picture of the cell has them somewhere already. */
  #membersOf({ members, planning }: DrivenGang): readonly GangMember[] {
    const planned = new Set(planning?.replicas.map(({ uid }) => uid));
    return [...members.values()].flatMap((replica) => {
      const member = this.parts.core.gangMember(replica);
      if (member === undefined) return [];
      return planned.has(replica.uid) ? { ...member, isOnItsWay: false } : member;
    });
  }

  /** Goes on where it was, if it is still about the same. Undefined if it did not come to an end. */
  #plan(
    driven: DrivenGang,
    replicas: readonly PendingReplica[],
    atLeast: number,
    mayGoOn: TurnMoment['mayGoOn'],
  ): GangPlan | undefined {
    const { core, records, snapshotAgeMs } = this.parts;
    driven.isNext = this.#planner !== undefined && this.#planner !== driven;
    if (driven.isNext) return undefined;
    if (driven.planning?.isFor(replicas, atLeast) === false) this.#giveUpPlanning(driven);
    const planning = (driven.planning ??= core.planGang(replicas, atLeast));
    this.#planner = driven;
    const plan = planning.goOn({ version: records.version, ageMs: snapshotAgeMs(), mayGoOn });
    if (plan !== undefined) this.#endPlanning(driven);
    return plan;
  }

  #giveUpPlanning(driven: DrivenGang): void {
    driven.planning?.giveUp();
    this.#endPlanning(driven);
  }

  #endPlanning(driven: DrivenGang): void {
    driven.planning = undefined;
    if (this.#planner !== driven) return;
    this.#planner = undefined;
    for (const other of this.#gangs.values()) if (other.isNext) other.dueMs = 0;
  }

  async #take(driven: DrivenGang, from: GangView, uid: string, steps: readonly GangStep[]): Promise<void> {
    const asked = this.#orders.decided(driven, steps);
    let isMoved = true;
    for (const step of steps) {
      if (step.kind !== 'Move') continue;
      if (step.draft !== undefined) this.#orders.receiptFor(driven, step.draft);
      driven.moved = { from, to: step.to };
      // The gangs after it in this slice know of it.
      this.#viewOf(driven);
      const outcome = await this.#orders.move(driven, uid, step.to);
      isMoved = outcome?.kind === 'Committed' || outcome?.kind === 'AlreadyCommitted';
      if (isMoved) continue;
      driven.moved = undefined;
      for (const { replica, proposal, decision } of asked) {
        if (outcome !== undefined) decision.answer(proposal.operation, outcome, 1);
        this.parts.core.unassume(replica);
      }
    }
    await Promise.all([
      ...(isMoved ? asked.map((one) => this.#reserve(one)) : []),
      ...steps.map(async (step) => {
        if (step.kind === 'ReleaseHold') await this.#orders.releaseHold(driven.tenant, step);
        else if (step.kind === 'Look') driven.dueMs = Math.min(driven.dueMs, step.untilMs);
        else if (step.kind === 'Wait') {
          const { reason, message, draft } = step;
          const why = draft
            ? { reason, message, decision: this.#orders.receiptFor(driven, draft) }
            : { reason, message };
          for (const replica of driven.members.values()) this.parts.onWait(replica, why);
          const untilMs = step.untilMs ?? this.parts.nowMs() + this.parts.sweepEveryMs;
          driven.dueMs = Math.min(driven.dueMs, untilMs);
        }
      }),
    ]);
    if (steps.some(({ kind }) => kind !== 'Wait' && kind !== 'Look'))
      driven.dueMs = Math.min(driven.dueMs, this.parts.nowMs() + lookMs);
  }

  async #reserve(asked: AskedHold): Promise<void> {
    const { core } = this.parts;
    const { replica } = asked;
    const isOpen = (): boolean =>
      this.#gangOf.has(replica.uid) && core.gangMember(replica)?.stage === 'Queued';
    const outcome = await this.#orders.reserve(asked, isOpen);
    // Where it does not matter any more, the records have shown the hold, or that there will be none.
    if (outcome === undefined || outcome.kind === 'Rejected') core.unassume(replica);
  }

  /** Gangs that other schedulers bring together, as the records show them. */
  #reservingElsewhere(nowMs: number): readonly GangView[] {
    const { core, isOwn } = this.parts;
    for (const key of this.#elsewhere.keys()) if (!core.reservingGangs.has(key)) this.#elsewhere.delete(key);
    const views: GangView[] = [];
    for (const key of core.reservingGangs) {
      const [tenant = '', name = ''] = key.split('/');
      // An own one that is not driven here has no members left: nobody waits for it.
      if (this.#gangs.has(key) || isOwn(tenant, name)) continue;
      const known = this.#elsewhere.get(key);
      const view = core.gangView(tenant, name, known?.sinceMs ?? nowMs);
      if (view === undefined) continue;
      const { attempts } = view;
      // Another attempt is not the one that was seen before.
      if (known?.attempts !== attempts) this.#elsewhere.set(key, { attempts, sinceMs: nowMs });
      else if (nowMs - known.sinceMs >= giveWayMsMax) continue;
      views.push(view);
    }
    return views;
  }

  /** As the records show it, and ahead of them where it was moved. */
  #viewOf(driven: DrivenGang): GangView | undefined {
    const { core, nowMs } = this.parts;
    const view = core.gangView(driven.tenant, driven.name, driven.sinceMs);
    if (view === undefined) return undefined;
    const { from } = driven.moved ?? {};
    if (view.state !== from?.state || view.attempts !== from.attempts) driven.moved = undefined;
    const state = driven.moved?.to ?? view.state;
    if (driven.state !== state) {
      driven.state = state;
      driven.sinceMs = nowMs();
      // Nobody holds for it: what was never seen of an attempt before this is not to come any more.
      this.#giveUpPlanning(driven);
      if (state === 'Waiting') for (const replica of driven.members.values()) core.unassume(replica);
    }
    return { ...view, state, sinceMs: driven.sinceMs };
  }
}
