import { Alarm } from '../env/alarm.js';
import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween, wallTimestamp } from '../env/instant.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Actor, Authority, LeadingTerm, Outcome, Proposal, Records } from '../model/ports.js';
import { reasonTable } from '../model/reasons.js';
import { type LeaseRecord, leaseKey, sameEpoch, shownEpoch, statusKey } from '../model/records.js';
import type { ReplicaState } from './replica-states.js';
import type {
  DecisionDraft,
  PendingReplica,
  Placement,
  PreemptionPlan,
  Turn,
  TurnMoment,
  TurnResult,
} from './contract.js';
import { Explanations } from './explanations.js';
import type { GangCore, GangDriver } from './gang-driver.js';
import { type HeldReplicas, type ReadyHold, statusIn } from './held-replicas.js';
import { Intake } from './intake.js';
import { KeptRefusals } from './kept-refusals.js';
import { outcomeOfError } from './outcome-of-error.js';
import { type DecisionSink, OpenDecision } from './open-decision.js';
import { type Batching, Outbox, type Sent } from './outbox.js';
import { Patience } from './patience.js';
import type { Easing, ParkReason } from './queue/cures.js';
import { type LotTurn, PendingQueue } from './queue/pending-queue.js';
import { RetrySender } from './retry-sender.js';
import type { SchedulerCounters } from './scheduler-counters.js';
import { type TermShape, wholeTerm } from './term-shape.js';

/** The pure core as the shell uses it: a picture of the cell, and what to do with a turn of the queue. */
export interface SchedulingCore extends GangCore {
  /** Takes in a record. Returns the replica that it is a part of, as it is now. */
  apply(key: string, value: unknown): ReplicaState | undefined;
  replica(tenant: string, name: string): ReplicaState | undefined;
  /** On the cell as it is now. What it places stays assumed. */
  propose(turn: Turn, at: TurnMoment): TurnResult;
  /** It could not say who would make room: it has to look at too many nodes for one stretch. */
  readonly isLooking: boolean;
  /** Looks on for a stretch. Once it has seen enough, the reasons that it may have a cure for. */
  look(): readonly ParkReason[];
  /** What got easier since the last call without a record that says so. */
  takeEasings(): readonly Easing[];
  readonly hasEasings: boolean;
}

export interface TermParts {
  readonly authority: Authority;
  readonly records: Records;
  readonly env: Env;
  readonly decisions: DecisionSink;
  readonly core: SchedulingCore;
  readonly policyRevision: string;
  readonly batching?: Batching;
  readonly lease: string;
  /** Names this process. */
  readonly name: string;
  readonly server: string;
  readonly isOwn: (tenant: string, workload: string) => boolean;
  /** How often everything that is parked is tried again, in case a wake-up was missed. Infinity: never. */
  readonly sweepEveryMs?: number;
  readonly shape?: TermShape;
  readonly counters: SchedulerCounters;
  readonly onProblem: (message: string) => void;
}

/** What a proposal on its way is about. */
interface About {
  readonly decision: OpenDecision | undefined;
  readonly isHeld: boolean;
}

const turnMax = 256;
// The authority of the same process decides what it is sent without a break, and takes in what came of it in one go:
// more at once would only keep others waiting.
const batchingDefault: Batching = { proposalsPerBatch: 64, batchesMax: 8 };
// Others get a turn after so long: half of what they may be kept waiting for, as a single class can take as long again.
const sliceMs = 8;
// So far into a stretch nobody is looked for any more who could make room.
const planningMs = 1.5 * sliceMs;
const recordsPerSlice = 2_000;
const wakeEveryMs = 20;
const sweepEveryMsUsual = 60_000;
const restMsMax = 60_000;
// No record says that a node was heard of again: who waits for that looks for itself. So does who waits for room that
// others could be made to leave: nearly every change could have eased that, and to look is dear.
const faintEveryMs = 2_000;
const holdSeconds = 60;
const backoff = { firstMs: 100, mostMs: 10_000 };

/**
 * One term of a scheduler: takes in the cell, hands turns of the queue to the core, sends what it proposes and turns
 * every answer into what happens next. It holds nothing that the next term would need.
 */
export class SchedulingTerm {
  readonly #startedAt: MonotonicInstant;
  readonly #queue: PendingQueue;
  readonly #held: HeldReplicas;
  readonly #gangs: GangDriver;
  readonly #intake: Intake;
  readonly #outbox: Outbox<About>;
  readonly #sender: RetrySender;
  readonly #explanations: Explanations;
  readonly #refusals = new KeptRefusals();
  readonly #alarm: Alarm;
  readonly #actor: Actor;
  readonly #signal: AbortSignal;
  /** In the ids of operations: terms and shards never share one. */
  readonly #idPart: string;
  readonly #sweepEveryMs: number;
  #operations = 0;
  #wokenAtMs = 0;
  #sweptAtMs = 0;
  #faintAtMs = 0;
  #changedAtMs = 0;
  #reserving = 0;
  #areMoreGangs = false;

  constructor(
    private readonly parts: TermParts,
    private readonly term: LeadingTerm,
  ) {
    const { env, records, authority, core, isOwn, lease, name } = parts;
    const { Held, Gangs, cures } = parts.shape ?? wholeTerm;
    this.#sweepEveryMs = parts.sweepEveryMs ?? sweepEveryMsUsual;
    this.#startedAt = env.clock.monotonic();
    this.#signal = term.signal;
    this.#idPart = `${lease}.${shownEpoch(term.epoch)}`;
    this.#alarm = new Alarm(env);
    this.#actor = { kind: 'scheduler', name, lease: { name: lease, epoch: term.epoch } };
    const nowMs = (): number => this.#nowMs();
    const onNews = (): void => this.#alarm.ring();
    const { random } = env;
    const onJoin = (lot: string, replica: PendingReplica): void => this.#explanations.joins(lot, replica);
    this.#queue = new PendingQueue({ random, backoff, turnMax, onReturn: onJoin });
    this.#held = new Held({ records, random, backoff });
    this.#explanations = new Explanations({
      ...{ authority, records, env, nowMs, onNews, actor: this.#actor },
      waitingIn: (lot) => this.#queue.waitingIn(lot),
      isParked: ({ uid }) => this.#queue.stateOf(uid) === 'parked',
      isPlacing: () => this.underWay > 0,
    });
    const patience = new Patience({ env, nowMs });
    this.#sender = new RetrySender({ env, nowMs, patience, records, signal: this.#signal });
    this.#gangs = new Gangs({
      ...{ authority, records, env, core, nowMs, onNews, actor: this.#actor, sender: this.#sender, isOwn },
      ...{ policyRevision: parts.policyRevision, idPart: this.#idPart },
      ...{ cures, sweepEveryMs: this.#sweepEveryMs },
      isGuaranteed: (tenant) => this.#queue.shares.isGuaranteed(tenant),
      snapshotAgeMs: () => this.snapshotAgeMs,
      openDecision: (tenant, draft) => this.#openDecision(tenant, draft),
      onWait: (replica, why) => this.#explanations.replicaWaits(replica, why),
    });
    this.#intake = new Intake({
      ...{
        records,
        queue: this.#queue,
        held: this.#held,
        gangs: this.#gangs,
        cures,
        cell: core,
        isOwn,
        onNews,
        onJoin,
      },
    });
    this.#outbox = new Outbox<About>({
      ...{ authority, patience, nowMs, onNews, batching: parts.batching ?? batchingDefault },
      onAnswer: (sent, outcome) => this.#answered(sent, outcome),
      onUnknown: ({ proposal, about, attempts }) => {
        this.parts.counters.answered('UnknownOutcome');
        about.decision?.answer(proposal.operation, { kind: 'UnknownOutcome', message: '' }, attempts);
      },
      isOpen: (proposal) => this.#isOpen(proposal),
    });
  }

  get queue(): PendingQueue {
    return this.#queue;
  }

  get held(): number {
    return this.#held.size;
  }

  /** How many proposals are on their way. */
  get underWay(): number {
    return this.#outbox.size + this.#reserving;
  }

  /** How long ago the cell last changed, as far as this scheduler has seen. */
  get snapshotAgeMs(): number {
    return this.#nowMs() - this.#changedAtMs;
  }

  /** Schedules until the term ends. */
  async run(): Promise<void> {
    await this.#load();
    while (!this.#signal.aborted) {
      const isMore = this.#work();
      if (!isMore) await this.#alarm.sleep(this.#restMs(), this.#signal);
      // Also when an answer has rung: the next batch would be answered before anybody else had a turn.
      await this.parts.env.yield();
    }
    this.#outbox.close();
  }

  async #load(): Promise<void> {
    const { records, env } = this.parts;
    // Followed before it is read: no change falls in between, and taking in a record twice changes nothing.
    records.follow((key, value) => {
      this.#changedAtMs = this.#nowMs();
      this.#intake.take(key, value, this.#changedAtMs);
    }, this.#signal);
    let left = recordsPerSlice;
    // Replicas last: their classes and priorities are known then.
    for (const prefix of ['/a/', '/e/', '/o/', '/s/'])
      for (const [key, value] of records.entries(prefix)) {
        if (this.#signal.aborted) return;
        this.#intake.take(key, value, this.#nowMs());
        left -= 1;
        if (left > 0) continue;
        left = recordsPerSlice;
        await env.yield();
      }
    this.#intake.wakeUp();
    this.#sweptAtMs = this.#nowMs();
  }

  /** One stretch of work. Whether there is more to do at once. */
  #work(): boolean {
    const fromMs = this.#nowMs();
    if (fromMs - this.#sweptAtMs >= this.#sweepEveryMs) this.#sweep(fromMs);
    this.#intake.takeEasings();
    if (fromMs - this.#wokenAtMs >= wakeEveryMs) {
      this.#wokenAtMs = fromMs;
      if (this.#intake.hasCures) this.#gangs.cured();
      this.#intake.wakeUp();
    }
    if (fromMs - this.#faintAtMs >= faintEveryMs) {
      this.#faintAtMs = fromMs;
      if (this.#intake.hasFaintCures) this.#gangs.cured(this.#intake.faintAbove);
      this.#intake.wakeUpFaintly();
    }
    if (this.parts.core.isLooking) this.#look();
    // Where gangs fill a stretch, the next one is for the queue.
    this.#areMoreGangs = !this.#areMoreGangs && this.#gangs.work(fromMs);
    for (const ready of this.#held.take(fromMs)) this.#bindHeld(ready);
    let isMore = false;
    while (this.#outbox.room > 0 && this.#reserving < turnMax) {
      isMore = this.#nowMs() - fromMs >= sliceMs;
      if (isMore) break;
      const turn = this.#queue.take(this.#nowMs());
      if (turn === undefined) break;
      this.#schedule(turn, fromMs);
    }
    const isMoreToSend = this.#outbox.send();
    this.#explanations.drain();
    this.parts.counters.stretch(this.#nowMs() - fromMs);
    return isMore || isMoreToSend || this.#areMoreGangs || this.parts.core.isLooking;
  }

  /** What was seen is as good as a change of the cell: who was told that there is no room asks again. */
  #look(): void {
    const reasons = this.parts.core.look();
    for (const reason of reasons) this.#queue.wake(reason);
    if (reasons.length > 0) this.#gangs.cured();
  }

  #sweep(nowMs: number): void {
    this.#sweptAtMs = nowMs;
    this.#explanations.forget();
    this.#queue.sweep();
  }

  #restMs(): number {
    const nowMs = this.#nowMs();
    const dues = [
      this.#sweptAtMs + this.#sweepEveryMs,
      this.#intake.hasFaintCures || this.#intake.waitsForTime ? this.#faintAtMs + faintEveryMs : undefined,
      this.#intake.hasCures ? this.#wokenAtMs + wakeEveryMs : undefined,
      this.#queue.nextDueMs,
      this.#held.nextDueMs,
      this.#gangs.nextDueMs,
      this.#outbox.nextDueMs,
      this.#explanations.nextDueMs,
    ];
    const nextMs = Math.min(...dues.filter((due) => due !== undefined));
    return Math.max(1, Math.min(nextMs - nowMs, restMsMax));
  }

  #schedule(turn: LotTurn, stretchFromMs: number): void {
    const { core, records, counters } = this.parts;
    if (this.#areWithoutGang(turn)) return;
    const version = records.version;
    const mayGoOn = (): boolean => this.#nowMs() - stretchFromMs < planningMs;
    const result = core.propose(turn, { version, ageMs: this.snapshotAgeMs, mayGoOn });
    counters.placements += result.placements.length;
    const decision = this.#openDecision(turn.replicas[0]?.tenant ?? '', result.decision);
    const about: About = { decision, isHeld: false };
    for (const placement of result.placements) {
      const proposal = this.#proposal('bind', placement, version, decision.name);
      decision.propose(proposal);
      this.#outbox.add(proposal, about);
    }
    for (const plan of result.plans) this.#reserve(plan, version, decision);
    const placed = result.placements.length + result.plans.length;
    if (placed > 0) this.#refusals.forget(turn.lot);
    // Time ran out before anything was decided.
    if (result.later.length === turn.replicas.length) {
      for (const { uid } of result.later.toReversed()) this.#queue.again(uid);
      return;
    }
    const receipt =
      placed > 0
        ? decision.name
        : this.#refusals.receiptFor(turn.lot, decision.name, result.decision, this.#nowMs());
    if (receipt === decision.name) decision.proposed();
    const waiting = result.later.map(({ uid }) => uid);
    for (const { replica } of result.waits) waiting.push(replica.uid);
    // Where time ran out nothing is parked: the planner may find room for the replicas it did not look at.
    const told = result.later.length > 0 ? [] : result.waits;
    const reasons = new Set<ParkReason>();
    for (const wait of told) for (const reason of wait.reasons) reasons.add(reason);
    // Without a reason nothing could wake it; the one that is told is one of them.
    const [first] = told;
    if (first !== undefined) reasons.add(first.reason);
    this.#queue.answer(turn, placed, waiting, [...reasons]);
    if (first !== undefined)
      this.#explanations.lotWaits(turn.lot, {
        reason: first.reason,
        message: first.message,
        decision: receipt,
      });
  }

  /** Hands members of a gang that was created anew to the gang driver: such a gang has not started. */
  #areWithoutGang({ replicas }: LotTurn): boolean {
    const [first] = replicas;
    if (first?.gang === undefined || this.#gangs.hasStarted(first.tenant, first.gang)) return false;
    for (const replica of replicas) this.#intake.lookAgain(replica, this.#nowMs());
    return true;
  }

  #openDecision(tenant: string, draft: DecisionDraft): OpenDecision {
    const { env, decisions, name, server, counters } = this.parts;
    counters.decisions += 1;
    return new OpenDecision(decisions, {
      ...{ tenant, draft, decider: { name, server, epoch: this.term.epoch } },
      at: wallTimestamp(env.clock.wall()).replace(/\.\d+Z$/, 'Z'),
    });
  }

  #proposal(
    verb: 'bind' | 'reserve',
    { replica, node, nodeEpoch, devices }: Omit<Placement, 'replica'> & { replica: Proposal['replica'] },
    snapshotRevision: string,
    decision?: string,
  ): Proposal {
    const { tenant, name, uid } = replica;
    const { policyRevision } = this.parts;
    this.#operations += 1;
    return {
      actor: this.#actor,
      replica: { tenant, name, uid },
      node,
      nodeEpoch,
      snapshotRevision,
      policyRevision,
      // One for each replica and attempt.
      operation: `${verb}/${uid}/${this.#idPart}.${this.#operations}`,
      ...(decision !== undefined && { decision }),
      ...(devices !== undefined && { devices }),
    };
  }

  #bindHeld({ replica, node, nodeEpoch, decision }: ReadyHold): void {
    const { version } = this.parts.records;
    const proposal = this.#proposal('bind', { replica, node, nodeEpoch }, version, decision);
    this.#outbox.add(proposal, { decision: undefined, isHeld: true });
  }

  /** Holds a place that others have to leave first. Once they have, the hold becomes a binding. */
  #reserve(plan: PreemptionPlan, version: string, decision: OpenDecision): void {
    const { authority, counters } = this.parts;
    const proposal = this.#proposal('reserve', plan, version, decision.name);
    const { victims } = plan;
    const hold = { intent: 'Preemption', deadlineSeconds: holdSeconds, victims } as const;
    decision.proposeRoom(proposal, victims);
    this.#reserving += 1;
    let attempts = 0;
    const send = async (): Promise<Outcome<unknown>> => {
      const outcome: Outcome<unknown> = await authority
        .reserve({ ...proposal, ...hold })
        .catch((error: unknown) => outcomeOfError(error, version));
      decision.answer(proposal.operation, outcome, (attempts += 1));
      counters.answered(shownOutcome(outcome));
      return outcome;
    };
    void this.#sender
      .untilKnown(send, () => this.#isOpen(proposal))
      .then((outcome) => {
        this.#reserving -= 1;
        if (outcome?.kind === 'Rejected') this.#refused(proposal, outcome, false);
        this.#alarm.ring();
      });
  }

  #answered({ proposal, about, attempts }: Sent<About>, outcome: Outcome<unknown>): void {
    this.parts.counters.answered(shownOutcome(outcome));
    about.decision?.answer(proposal.operation, outcome, attempts);
    // What was committed stays assumed, and out of the queue, until the records show it.
    if (outcome.kind === 'Rejected') this.#refused(proposal, outcome, about.isHeld);
  }

  #refused(
    proposal: Proposal,
    outcome: Extract<Outcome<unknown>, { kind: 'Rejected' }>,
    isHeld: boolean,
  ): void {
    const { core, onProblem } = this.parts;
    const { replica } = proposal;
    core.unassume(replica);
    if (outcome.reason === 'StaleEpoch' && this.#isSuperseded()) {
      this.term.giveUp(outcome.message);
      return;
    }
    // Bound already: the records will say so, and until then nothing is proposed for it.
    if (outcome.reason === 'AlreadyBound') return;
    if (reasonTable[outcome.reason].callerMay === 'never' && outcome.reason !== 'StaleEpoch')
      onProblem(`${proposal.operation} was refused: ${outcome.reason}: ${outcome.message}`);
    if (isHeld) this.#held.backOff(replica.uid, this.#nowMs());
    else {
      this.#queue.backOff(replica.uid, this.#nowMs());
      this.#explanations.replicaWaits(replica, {
        reason: outcome.reason,
        message: outcome.message,
        ...(proposal.decision !== undefined && { decision: proposal.decision }),
      });
    }
  }

  /** Whether the lease is seen to stand at another epoch. What is not seen yet, the next renewal finds out. */
  #isSuperseded(): boolean {
    const record = this.parts.records.read(leaseKey(this.parts.lease)) as LeaseRecord | undefined;
    return record !== undefined && !sameEpoch(record.epoch, this.term.epoch);
  }

  /** Reads back: whether the replica still waits for this proposal. */
  #isOpen({ replica }: Proposal): boolean {
    const { tenant, name, uid } = replica;
    const isKnown = this.#queue.stateOf(uid) !== undefined || this.#held.has(uid);
    const stage = statusIn<Replica>(this.parts.records, statusKey('Replica', tenant, name))?.stage;
    return isKnown && (stage === 'Queued' || stage === 'Scheduled');
  }

  #nowMs(): number {
    return msBetween(this.#startedAt, this.parts.env.clock.monotonic());
  }
}

const shownOutcome = (outcome: Outcome<unknown>): string =>
  outcome.kind === 'Rejected' ? outcome.reason : outcome.kind;
