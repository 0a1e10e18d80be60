import { type Backoff, backoffAfter } from '../env/backoff.js';
import type { Env } from '../env/env.js';
import type { Gang } from '../model/kinds/gang.js';
import type { PriorityClass } from '../model/kinds/priority-class.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import type { Actor, Authority, Outcome, Records, ReplicaRef } from '../model/ports.js';
import type { Reason } from '../model/reasons.js';
import {
  type NodeAccount,
  nodeAccountKey,
  type NodeEpoch,
  nodeEpochKey,
  objectKey,
  sameEpoch,
  statusKey,
} from '../model/records.js';
import type { PendingReplica, Placement, PreemptionPlan } from './contract.js';
import { gangHoldSeconds, type GangMember, type GangStep, type GangView, nextGangSteps } from './gangs.js';
import { statusIn } from './held-replicas.js';

export interface GangDriverParts {
  readonly authority: Pick<Authority, 'moveGang' | 'reserve' | 'releaseHold'>;
  readonly records: Records;
  readonly env: Env;
  readonly nowMs: () => number;
  readonly actor: Actor;
  readonly policyRevision: string;
  readonly signal: AbortSignal;
  /** A part of every operation's id that no other term or shard has. */
  readonly idPart: string;
  /** Places for at least so many of these, assumed; undefined if there are not. */
  readonly plan: (
    replicas: readonly PendingReplica[],
    atLeast: number,
  ) => readonly (Placement | PreemptionPlan)[] | undefined;
  readonly unassume: (replica: ReplicaRef) => void;
  readonly onWait: (replica: ReplicaRef, reason: Reason, message: string) => void;
  readonly onNews: () => void;
}

interface Member {
  readonly replica: PendingReplica;
  readonly hold: string | undefined;
}

interface DrivenGang {
  readonly tenant: string;
  readonly name: string;
  readonly members: Map<string, Member>;
  readonly jitter: number;
  state: GangView['state'] | undefined;
  sinceMs: number;
  dueMs: number;
  isBusy: boolean;
}

const backoff: Backoff = { firstMs: 100, mostMs: 10_000 };
/** A gang that waits for room is planned again when the cell changed, but not more often than this. */
const lookMs = 1_000;

/**
 * Brings gangs together: asks `nextGangSteps` what each needs and does it, one gang's steps at a time. Until a gang is
 * Committed its members are here and in no queue; from then on they are replicas like others.
 */
export class GangDriver {
  readonly #gangs = new Map<string, DrivenGang>();
  readonly #gangOf = new Map<string, DrivenGang>();
  #operations = 0;

  constructor(private readonly parts: GangDriverParts) {}

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

  add(replica: PendingReplica, gang: string, hold: string | undefined): void {
    const key = `${replica.tenant}/${gang}`;
    let driven = this.#gangs.get(key);
    if (driven === undefined) {
      const jitter = this.parts.env.random.float();
      driven = {
        ...{ tenant: replica.tenant, name: gang, members: new Map<string, Member>(), jitter },
        ...{ state: undefined, sinceMs: this.parts.nowMs(), dueMs: 0, isBusy: false },
      };
      this.#gangs.set(key, driven);
    }
    driven.members.set(replica.uid, { replica, hold });
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
    if (driven.members.size === 0) this.#gangs.delete(`${driven.tenant}/${driven.name}`);
  }

  /** The members of a gang, for who takes them over once it has started. */
  membersOf(tenant: string, gang: string): readonly PendingReplica[] {
    return [...(this.#gangs.get(`${tenant}/${gang}`)?.members.values() ?? [])].map(({ replica }) => replica);
  }

  /** A gang or one of its holds changed. */
  changed(tenant: string): void {
    for (const driven of this.#gangs.values()) if (driven.tenant === tenant) driven.dueMs = 0;
  }

  /** There may be room now. */
  cured(): void {
    const soonMs = this.parts.nowMs() + lookMs;
    for (const driven of this.#gangs.values()) driven.dueMs = Math.min(driven.dueMs, soonMs);
  }

  /** Takes the next steps of every gang whose time has come. */
  work(nowMs: number): void {
    for (const driven of this.#gangs.values()) {
      if (driven.isBusy || driven.dueMs > nowMs) continue;
      driven.dueMs = Number.POSITIVE_INFINITY;
      const view = this.#viewOf(driven);
      if (view === undefined) continue;
      const { gang, uid } = view;
      const reserving = [...this.#gangs.values()].flatMap((other) => {
        const seen = other === driven || other.state !== 'Reserving' ? undefined : this.#viewOf(other)?.gang;
        return seen === undefined ? [] : [seen];
      });
      const members = [...driven.members.values()].map((member) => this.#memberOf(member));
      const { jitter } = driven;
      const steps = nextGangSteps(gang, members, { nowMs, jitter, reserving, plan: this.parts.plan });
      driven.isBusy = true;
      if (steps.some((step) => step.kind === 'Move' && step.to === 'Reserving')) driven.state = 'Reserving';
      void this.#take(driven, uid, steps).finally(() => {
        driven.isBusy = false;
        this.parts.onNews();
      });
    }
  }

  async #take(driven: DrivenGang, uid: string, steps: readonly GangStep[]): Promise<void> {
    let isMoved = true;
    for (const step of steps)
      if (step.kind === 'Move') isMoved = (await this.#move(driven, uid, step.to)) && isMoved;
    await Promise.all(
      steps.map(async (step) => {
        if (step.kind === 'Reserve' && isMoved) await this.#reserve(step.placement);
        else if (step.kind === 'Reserve') this.parts.unassume(step.placement.replica);
        else if (step.kind === 'ReleaseHold') await this.#releaseHold(driven.tenant, step);
        else if (step.kind === 'Wait') {
          for (const { replica } of driven.members.values())
            this.parts.onWait(replica, step.reason, step.message);
          // Without a time it waits for a change; a slow look catches one that was missed.
          driven.dueMs = Math.min(driven.dueMs, step.untilMs ?? this.parts.nowMs() + 60 * lookMs);
        }
      }),
    );
    if (steps.some(({ kind }) => kind !== 'Wait'))
      driven.dueMs = Math.min(driven.dueMs, this.parts.nowMs() + lookMs);
  }

  async #move({ tenant, name: gang }: DrivenGang, uid: string, to: GangView['state']): Promise<boolean> {
    const { authority, actor } = this.parts;
    const operation = this.#operation(`gang/${uid}/${to}`);
    const outcome = await this.#untilKnown(() =>
      authority.moveGang({ actor, tenant, gang, uid, to, operation }),
    );
    return outcome.kind === 'Committed' || outcome.kind === 'AlreadyCommitted';
  }

  async #reserve(place: Placement | PreemptionPlan): Promise<void> {
    const { authority, actor, policyRevision, records } = this.parts;
    const { tenant, name, uid } = place.replica;
    const { node, nodeEpoch, devices } = place;
    const operation = this.#operation(`reserve/${uid}`);
    const outcome = await this.#untilKnown(() =>
      authority.reserve({
        ...{ actor, replica: { tenant, name, uid }, node, nodeEpoch, policyRevision, operation },
        ...{ snapshotRevision: records.version, intent: 'Gang', deadlineSeconds: gangHoldSeconds },
        ...(devices !== undefined && { devices }),
        ...('victims' in place && { victims: place.victims }),
      }),
    );
    if (outcome.kind === 'Rejected') this.parts.unassume(place.replica);
  }

  async #releaseHold(
    tenant: string,
    { reservation, uid }: { reservation: string; uid: string },
  ): Promise<void> {
    const { authority, actor } = this.parts;
    const operation = this.#operation(`release-hold/${uid}`);
    const [as, reason] = ['Released', 'GangIncomplete'] as const;
    await this.#untilKnown(() =>
      authority.releaseHold({ actor, tenant, reservation, uid, as, reason, operation }),
    );
  }

  #operation(what: string): string {
    this.#operations += 1;
    return `${what}/${this.parts.idPart}.g${this.#operations}`;
  }

  /** Sends the same operation again until its outcome is known, or the term is over. */
  async #untilKnown(send: () => Promise<Outcome<unknown>>): Promise<Outcome<unknown>> {
    const { env, signal } = this.parts;
    for (let attempts = 1; ; attempts++) {
      const outcome = await send().catch((error: unknown): Outcome<unknown> => ({
        kind: 'UnknownOutcome',
        message: String(error),
      }));
      if (outcome.kind !== 'UnknownOutcome' || signal.aborted) return outcome;
      await env.sleep(backoffAfter(backoff, attempts, env.random), signal).catch(() => undefined);
    }
  }

  #viewOf(driven: DrivenGang): { readonly gang: GangView; readonly uid: string } | undefined {
    const { records, nowMs } = this.parts;
    const { tenant, name } = driven;
    const stored = records.read(objectKey('Gang', tenant, name)) as Gang | undefined;
    const [first] = driven.members.values();
    if (stored === undefined || first === undefined) return undefined;
    const status = statusIn<Gang>(records, statusKey('Gang', tenant, name));
    const state = status?.state ?? 'Waiting';
    if (driven.state !== state) {
      driven.state = state;
      driven.sinceMs = nowMs();
    }
    const revision = records.read(`/o/WorkloadRevision/${first.replica.classKey}`) as
      | WorkloadRevision
      | undefined;
    const className = revision?.spec.priorityClassName ?? 'default';
    const priority = records.read(objectKey('PriorityClass', undefined, className)) as
      | PriorityClass
      | undefined;
    const gang: GangView = {
      ...{ tenant, name, state, holds: status?.holds ?? 0, attempts: status?.attempts ?? 0 },
      ...{ minAvailable: stored.spec.minAvailable, priority: priority?.spec.value ?? 0 },
      ...{ rules: revision?.spec.placement ?? {}, sinceMs: driven.sinceMs },
    };
    return { gang, uid: stored.metadata.uid };
  }

  #memberOf({ replica, hold: reservation }: Member): GangMember {
    const { records } = this.parts;
    if (reservation === undefined) return { replica, stage: 'Queued' };
    const stored = records.read(objectKey('Reservation', replica.tenant, reservation)) as
      | Reservation
      | undefined;
    const held = statusIn<Reservation>(records, statusKey('Reservation', replica.tenant, reservation));
    const node = stored?.spec.node ?? '';
    const nodeEpoch = held?.nodeEpoch;
    if (stored === undefined || held?.state !== 'Held' || nodeEpoch === undefined)
      return { replica, stage: 'Scheduled' };
    const gate = (records.read(nodeAccountKey(node)) as NodeAccount | undefined)?.gate.state;
    const now = (records.read(nodeEpochKey(node)) as NodeEpoch | undefined)?.epoch;
    const isBroken = gate !== 'Open' || now === undefined || !sameEpoch(now, nodeEpoch);
    const state = isBroken ? 'Broken' : (held.awaits ?? []).length > 0 ? 'Awaits' : 'Ready';
    const { uid } = stored.metadata;
    const placement: Placement = { replica, node, nodeEpoch };
    return { replica, stage: 'Scheduled', hold: { reservation, uid, placement, state } };
  }
}
