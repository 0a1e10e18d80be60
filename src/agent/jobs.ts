import { backoffAfter } from '../env/backoff.js';
import type { Env, Timer } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import type { NodeBinding, NodeHears, StreamReport } from '../model/node-stream.js';
import type { Outcome } from '../model/ports.js';
import type { Stage } from '../model/stages.js';
import type { Driver, DriverEvent } from './driver.js';
import { type Facts, nextStep, overrunSecondsOf, type Running, type Word } from './next-step.js';
import type { Refusals } from './refusals.js';
import type { Wheel } from './wheel.js';

interface Job {
  binding: NodeBinding;
  running: Running;
  /** The control plane does not know it any more: it goes when it has ended. */
  isGone: boolean;
  /** What was said of it last. The same operation is sent again until its outcome is known. */
  said: { readonly operation: string; readonly word: Word; id: number | undefined } | undefined;
  /** The facts that the control plane has. */
  facts: Facts;
  /** When facts alone were said last; since when there are new ones; and what waits to say them. */
  factsAt: MonotonicInstant | undefined;
  newsAt: MonotonicInstant | undefined;
  factsTimer: Timer | undefined;
  /** A stage that a report of ours has put it to, at that version: newer than what the stream told. */
  known: { readonly stage: Stage; readonly version: number } | undefined;
  failures: number;
  /** It is looked at again later, not now. */
  isResting: boolean;
}

export interface JobsParts {
  readonly driver: Driver;
  readonly refusals: Refusals;
  readonly wheel: Wheel;
  readonly env: Env;
  readonly mayStart: (binding: NodeBinding) => boolean;
  /** Whether it was bound under the journal that this agent has: before that somebody else may have started it. */
  readonly isInJournal: (binding: NodeBinding) => boolean;
  readonly graceSeconds: number;
  /** Whether there is somebody to hear. While not, nothing is started, and nothing is said but that fenced work has ended. */
  readonly isHeard: () => boolean;
  /** Whether what is said may arrive, although nothing was heard yet. */
  readonly isOpen: () => boolean;
  /** Says a report and gives its id. */
  readonly send: (report: StreamReport) => number;
}

// So many reports are under way at once; the server cuts off who has many more.
const underWayMax = 48;
const retry = { firstMs: 250, mostMs: 10_000 };
// Facts that move no stage are said so often of one replica and no oftener, as they are by then: a probe that flaps
// and a pull that goes on for minutes are not a transaction each time.
const factsEveryMs = 5_000;
// So long a move that says them along is waited for. That it lost its readiness is said at once.
const newsMs = 1_000;
// After an answer that says that our picture is old: its news is on the way, and if not this looks again.
const oldPictureMs = 5_000;
const messageCharsMax = 1_000;

/** The replicas of one node: what runs of each, what the control plane believes, and what was said and not answered. */
export class Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #sent = new Map<number, string>();
  // Those that may need a step.
  readonly #due = new Set<string>();
  // Those of which there is something to say when there is room again. What is to be done does not wait for that.
  readonly #unsaid = new Set<string>();

  // What was told of the whole set so far, while it is on its way. What is not in it is unwanted only when it has ended.
  #all: Set<string> | undefined;

  // Said once, when there is somebody to hear, of replicas that the control plane wants nothing of any more.
  readonly #overruns: StreamReport[] = [];

  // Those that were not permitted to start when they were looked at.
  readonly #held = new Set<string>();

  constructor(private readonly parts: JobsParts) {}

  /** What is bound here, a part of all of it or as it changed. */
  told({ begins, ends, bindings, gone }: NodeHears & { readonly kind: 'bindings' }): void {
    if (begins === true) this.#all = new Set();
    for (const uid of gone) {
      this.#all?.delete(uid);
      this.#gone(uid);
    }
    for (const binding of bindings) {
      this.#all?.add(binding.replica.uid);
      this.#bound(binding);
    }
    if (ends === true && this.#all !== undefined) this.#keepOnly(this.#all);
    if (ends === true) this.#all = undefined;
    this.#work();
  }

  #keepOnly(all: ReadonlySet<string>): void {
    for (const uid of this.#jobs.keys()) if (!all.has(uid)) this.#gone(uid);
    this.#stopUnwanted(all);
  }

  /** The machine can say by now what it could not when it was asked. */
  found(): void {
    for (const [uid, { running, binding }] of this.#jobs)
      if (running.at === 'NotKnown') {
        this.#jobs.set(uid, this.#found(binding));
        this.#due.add(uid);
      }
    // While nobody is heard, or not all was said, the whole set is still to come.
    if (this.parts.isHeard() && this.#all === undefined) this.#stopUnwanted(this.#jobs);
    this.#work();
  }

  /** What another life of the agent started and nobody wants any more. */
  #stopUnwanted(wanted: { has(uid: string): boolean }): void {
    for (const uid of this.parts.driver.list())
      if (!wanted.has(uid) && !this.#jobs.has(uid)) {
        this.parts.driver.stop(uid, this.parts.graceSeconds);
        this.parts.driver.forget(uid);
      }
  }

  /** What became of a report. */
  answered(id: number, outcome: Outcome<{ readonly stage: Stage }>): void {
    const uid = this.#sent.get(id);
    this.#sent.delete(id);
    const job = uid === undefined ? undefined : this.#jobs.get(uid);
    if (uid !== undefined && job?.said?.id === id) this.#settle(uid, job, outcome);
    this.#work();
  }

  happened(told: DriverEvent): void {
    const event = shortened(told);
    const job = this.#jobs.get(event.uid);
    if (job === undefined) return;
    const { running } = job;
    switch (event.kind) {
      case 'Started': {
        const { driverId, executions, address } = event;
        if (running.at === 'Starting' || running.at === 'Ready')
          job.running = { at: 'Starting', driverId, executions, ...(address !== undefined && { address }) };
        break;
      }
      // Something on the way to be ready: whatever it was before, it is not ready now.
      case 'Step': {
        const { step, message = '' } = event;
        if (running.at === 'Starting' || running.at === 'Ready') {
          const { readiness: _, ...rest } = running;
          job.running = { ...rest, at: 'Starting', step, message };
        }
        break;
      }
      case 'NotReady':
        if (running.at === 'Ready')
          job.running = { ...running, readiness: { isPassing: false, message: event.message } };
        break;
      case 'Ready':
        if (running.at === 'Starting' || running.at === 'Ready') {
          const { step: _, message: __, readiness: ___, ...rest } = running;
          job.running = { ...rest, at: 'Ready' };
        }
        break;
      case 'Exited': {
        const { kind: _, uid: __, ...end } = event;
        job.running = { at: 'Ended', ...startedIn(running), ...end };
        if (job.isGone) this.#forget(event.uid);
      }
    }
    this.#due.add(event.uid);
    this.#work();
  }

  /** The stream is cut: what was said and not answered is said again, as the same operation, when it is open. */
  cut(): void {
    this.#all = undefined;
    this.#sent.clear();
    for (const { said } of this.#jobs.values()) if (said !== undefined) said.id = undefined;
  }

  /** There is a line again; whether somebody answers on it is not known yet. */
  opened(): void {
    this.#work();
  }

  /** A renewal permits fenced work again. */
  permitted(): void {
    if (this.#held.size === 0) return;
    for (const uid of this.#held) this.#due.add(uid);
    this.#held.clear();
    this.#work();
  }

  stopFenced(): void {
    for (const [uid, job] of this.#jobs)
      if (job.binding.isFenced && (job.running.at === 'Starting' || job.running.at === 'Ready'))
        this.#stop(uid, job, this.parts.graceSeconds);
  }

  #bound(told: NodeBinding): void {
    const { uid } = told.replica;
    const job = this.#jobs.get(uid);
    const template = told.template ?? job?.binding.template ?? this.#templateOf(told);
    const binding = template === undefined ? told : { ...told, template };
    if (job === undefined) this.#jobs.set(uid, this.#found(binding));
    else if (told.version >= job.binding.version) {
      job.binding = binding;
      job.isGone = false;
      job.isResting = false;
    }
    this.#due.add(uid);
  }

  /** The template comes with the first of its revision alone. */
  #templateOf({ replica, revision }: NodeBinding): NodeBinding['template'] {
    for (const { binding } of this.#jobs.values())
      if (binding.revision === revision && binding.replica.tenant === replica.tenant && binding.template)
        return binding.template;
    return undefined;
  }

  /** A replica that is new to this life of the agent: an earlier one may have started it. */
  #found(binding: NodeBinding): Job {
    const { uid } = binding.replica;
    const isRefused = this.parts.refusals.has(uid);
    const found = isRefused ? 'Gone' : this.parts.driver.adopt(binding);
    const isNew = binding.stage === 'Bound' || binding.stage === 'Releasing' || binding.intent !== undefined;
    const running: Running =
      found === 'Running'
        ? { at: 'Starting' }
        : found === 'Ready'
          ? { at: 'Ready' }
          : isRefused
            ? { at: 'Refused' }
            : found === 'NotKnown' || !this.parts.isInJournal(binding)
              ? { at: 'NotKnown' }
              : isNew
                ? { at: 'Nothing' }
                : { at: 'Ended', reason: 'NotRunning' };
    return {
      ...{ binding, running, isGone: false, said: undefined, known: undefined },
      ...{ facts: binding.said ?? {}, factsAt: undefined, newsAt: undefined, factsTimer: undefined },
      ...{ failures: 0, isResting: false },
    };
  }

  #gone(uid: string): void {
    const job = this.#jobs.get(uid);
    if (job === undefined) return;
    this.#due.delete(uid);
    const { at } = job.running;
    if (at === 'Starting' || at === 'Ready') this.#stop(uid, job);
    if (job.running.at === 'Stopping') job.isGone = true;
    else this.#forget(uid);
  }

  #forget(uid: string): void {
    this.#keepOverrun(this.#jobs.get(uid));
    this.#jobs.get(uid)?.factsTimer?.cancel();
    this.#jobs.delete(uid);
    this.parts.driver.forget(uid);
    this.parts.refusals.delete(uid);
  }

  /** [S5] It was given away while it still ran: the control plane has to know, although it wants nothing more of it. */
  #keepOverrun(job: Job | undefined): void {
    if (job?.running.at !== 'Ended' || job.running.overrunMs === undefined) return;
    const { replica, fence } = job.binding;
    this.#overruns.push({
      ...{ operation: `overrun/${replica.uid}`, replica, fence, stage: 'Released', reason: 'FenceOverrun' },
      overrunSeconds: overrunSecondsOf(job.running.overrunMs),
    });
  }

  #stop(uid: string, job: Job, graceSecondsMax = Infinity): void {
    job.running = { at: 'Stopping' };
    const { intent, template } = job.binding;
    const graceSeconds = intent?.graceSeconds ?? template?.terminationGraceSeconds ?? this.parts.graceSeconds;
    this.parts.driver.stop(uid, Math.min(graceSeconds, graceSecondsMax));
  }

  #work(): void {
    if (!this.parts.isHeard()) {
      if (this.parts.isOpen()) this.#sayEnds();
      return;
    }
    for (const report of this.#overruns.splice(0)) this.parts.send(report);
    for (const uid of this.#due) {
      this.#due.delete(uid);
      this.#look(uid);
    }
    for (const uid of this.#unsaid) {
      if (this.#sent.size >= underWayMax) return;
      this.#unsaid.delete(uid);
      this.#look(uid);
    }
  }

  /**
   * A node that is heard and hears nothing renews its lease, so nobody would ask what became of a fenced job that stopped
   * for want of an answer. That it has ended is so whatever the control plane wants by now.
   */
  #sayEnds(): void {
    for (const [uid, job] of this.#jobs) {
      const isEnded = job.running.at === 'Ended' && job.binding.isFenced && !job.isGone && !job.isResting;
      if (!isEnded || this.#sent.size >= underWayMax) continue;
      const { say } = nextStep(job.running, job.binding, stageOf(job), false, job.facts);
      if (say !== undefined) this.#say(uid, job, say);
    }
  }

  #look(uid: string): void {
    const job = this.#jobs.get(uid);
    if (job === undefined || job.isGone || job.isResting) return;
    // [S5] While another machine had the name it was given up: W after that its successor may run.
    const { binding, running } = job;
    const isRunning = running.at === 'Starting' || running.at === 'Ready';
    if (isRunning && binding.isFenced && !this.parts.isInJournal(binding))
      return this.#stop(uid, job, this.parts.graceSeconds);
    // At most one act and one word: what follows from an act is told by the driver.
    for (let looks = 0; looks < 2; looks++) {
      const mayStart = this.parts.mayStart(job.binding);
      if (!mayStart) this.#held.add(uid);
      const isWhole = job.binding.template !== undefined;
      const stage = stageOf(job);
      const { act, say } = nextStep(job.running, job.binding, stage, mayStart && isWhole, job.facts);
      if (act === 'stop') return this.#stop(uid, job);
      if (act === 'start') {
        job.running = { at: 'Starting' };
        this.parts.driver.start(job.binding);
      }
      if (act === 'refuse') return this.#refuse(uid, job);
      if (act !== undefined) continue;
      if (say === undefined) return;
      if (this.#sent.size >= underWayMax) this.#unsaid.add(uid);
      else if (say.stage !== stage || this.#mayTellFacts(uid, job, say)) this.#say(uid, job, say);
      return;
    }
  }

  #refuse(uid: string, job: Job): void {
    job.running = { at: 'Refusing' };
    this.parts.refusals.add(uid, (problem) => {
      if (job.running.at !== 'Refusing') return;
      if (problem !== undefined) {
        // It stays unsaid that it has stopped, and is tried again for as long as it is asked for.
        job.running = { at: 'Nothing' };
        job.failures += 1;
        return this.#rest(uid, job, backoffAfter(retry, job.failures, this.parts.env.random));
      }
      job.failures = 0;
      job.running = { at: 'Refused' };
      this.#due.add(uid);
      this.#work();
    });
  }

  #mayTellFacts(uid: string, job: Job, { readiness }: Word): boolean {
    const { env, wheel } = this.parts;
    const now = env.clock.monotonic();
    job.newsAt ??= now;
    const waitMs = Math.max(
      job.factsAt === undefined ? 0 : factsEveryMs - msBetween(job.factsAt, now),
      readiness === undefined ? newsMs - msBetween(job.newsAt, now) : 0,
    );
    job.factsTimer?.cancel();
    if (waitMs <= 0) {
      job.factsAt = now;
      return true;
    }
    job.factsTimer = wheel.after(waitMs, () => {
      this.#due.add(uid);
      this.#work();
    });
    return false;
  }

  #say(uid: string, job: Job, word: Word): void {
    if (job.said?.id !== undefined) return;
    job.newsAt = undefined;
    // Under the same id the same is said: what is news by now is said when the outcome of this is known.
    if (job.said?.word.stage !== word.stage)
      job.said = { operation: `report/${uid}/${this.parts.env.uuid()}`, word, id: undefined };
    const { operation, word: said } = job.said;
    const { replica, fence } = job.binding;
    // Who speaks of what is not of this journal has started it, or has refused it.
    const known = this.parts.isInJournal(job.binding) ? {} : ({ isKnown: true } as const);
    job.said.id = this.parts.send({ operation, replica, fence, ...known, ...said });
    this.#sent.set(job.said.id, uid);
  }

  #settle(uid: string, job: Job, outcome: Outcome<{ readonly stage: Stage }>): void {
    const isOver = outcome.kind !== 'UnknownOutcome' && !isContended(outcome);
    if (outcome.kind === 'Committed' || outcome.kind === 'AlreadyCommitted')
      job.facts = { ...job.facts, ...factsIn(job.said?.word) };
    if (isOver) job.said = undefined;
    else if (job.said !== undefined) job.said.id = undefined;
    if (outcome.kind === 'Committed') {
      job.failures = 0;
      job.known = { stage: outcome.result.stage, version: Number(outcome.revision) };
      this.#due.add(uid);
      return;
    }
    // AlreadyCommitted tells the stage it came to then, which may be long past.
    if (isOver) return this.#rest(uid, job, oldPictureMs);
    job.failures += 1;
    this.#rest(uid, job, backoffAfter(retry, job.failures, this.parts.env.random));
  }

  #rest(uid: string, job: Job, ms: number): void {
    job.isResting = true;
    this.parts.wheel.after(ms, () => {
      if (this.#jobs.get(uid) !== job || !job.isResting) return;
      job.isResting = false;
      this.#due.add(uid);
      this.#work();
    });
  }
}

/** What is said goes into lines of bounded length, and messages quote what tenants wrote. */
const shortened = (event: DriverEvent): DriverEvent =>
  'message' in event && event.message !== undefined && event.message.length > messageCharsMax
    ? { ...event, message: `${event.message.slice(0, messageCharsMax - 1)}…` }
    : event;

function factsIn(word: Word | undefined): Facts {
  if (word === undefined) return {};
  const { stage: _, reason: __, exitCode: ___, overrunSeconds: ____, ...facts } = word;
  return facts;
}

/** What is known of the execution that was the last. */
function startedIn(running: Running): Pick<Facts, 'driverId' | 'executions'> {
  if (running.at !== 'Starting' && running.at !== 'Ready') return {};
  const { driverId, executions } = running;
  return { ...(driverId !== undefined && { driverId }), ...(executions !== undefined && { executions }) };
}

const isContended = (outcome: Outcome<unknown>): boolean =>
  outcome.kind === 'Rejected' && outcome.reason === 'Contended';

/** The stage as far as this node knows. */
const stageOf = ({ binding, known }: Job): Stage =>
  known !== undefined && known.version > binding.version ? known.stage : binding.stage;
