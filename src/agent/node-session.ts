import { backoffAfter } from '../env/backoff.js';
import type { Env, Timer } from '../env/env.js';
import { type BootInstant, type MonotonicInstant, msBetween, plusMs } from '../env/instant.js';
import type { NodeBinding, NodeHears, NodeLine, NodeStreams } from '../model/node-stream.js';
import type { Outcome, Register } from '../model/ports.js';
import { type Epoch, type FenceRecord, isOlderEpoch } from '../model/records.js';
import type { UsageSample } from '../model/usage.js';
import type { Driver } from './driver.js';
import { Jobs } from './jobs.js';
import { MemoryRefusals, type Refusals } from './refusals.js';
import type { AgentSessions } from './sessions/agent-sessions.js';
import type { Wheel } from './wheel.js';

export interface NodeSessionParts {
  readonly streams: NodeStreams;
  readonly driver: Driver;
  /** In memory if left out: for nodes on which nothing runs. */
  readonly refusals?: Refusals;
  readonly env: Env;
  readonly wheel: Wheel;
  /** What the node offers. */
  readonly offer: Omit<Register, 'operation' | 'leaseSeconds'>;
  /** Told that somebody wants something of a replica here. Hollow nodes have nothing to show. */
  readonly sessions?: Pick<AgentSessions, 'attach'>;
  /** What replicas use, of those whose turn it is. Hollow nodes use nothing. */
  readonly usage?: () => readonly UsageSample[];
  /** How long its lease lasts without a renewal, if not as long as usual. */
  readonly leaseSeconds?: number;
  /** Told whenever it is heard, with all that is bound to it. */
  readonly onHeard?: () => void;
  /** Told why it is not heard. */
  readonly onProblem: (message: string) => void;
}

const leaseSecondsUsual = 40;
const backoff = { firstMs: 500, mostMs: 10_000 };
const renewMsUsual = 5_000;
// So many periods without an acknowledgement, and the stream is taken for cut.
const silentPeriodsMax = 3;
const sentMax = 4;
// Whoever stops work waits for its grace no longer than this, also if it is told to.
const graceSecondsUsual = 8;

/**
 * One node's side of the protocol: registers, opens the stream, has the driver do what bindings say, and reports. What
 * runs goes on while the stream is cut; when it is open again the state of every replica is said anew.
 */
export class NodeSession {
  readonly #jobs: Jobs;
  #epoch: Epoch | undefined;
  #journalSince: Epoch | undefined;
  #line: NodeLine | undefined;
  // Of the lines so far: what an older one still hears is not meant for this one.
  #lineNumber = 0;
  #ids = 0;
  #failures = 0;
  #renewMs = renewMsUsual;
  // The last renewals, and when each was sent: an acknowledgement may come after the next one has gone out.
  readonly #sent = new Map<number, BootInstant>();
  #heardAt: MonotonicInstant;
  #permit: { readonly until: BootInstant; readonly fence: FenceRecord } | undefined;
  #timer: Timer | undefined;
  #isClosed = false;
  #registration: string | undefined;
  // The whole set has come on this line: before that its epoch is not known to stand, and nothing is done, nor said but that fenced work has ended.
  #isTold = false;

  constructor(private readonly parts: NodeSessionParts) {
    this.#heardAt = parts.env.clock.monotonic();
    this.#jobs = new Jobs({
      driver: parts.driver,
      refusals: parts.refusals ?? new MemoryRefusals(),
      wheel: parts.wheel,
      env: parts.env,
      mayStart: (binding) => this.#isInJournal(binding) && (!binding.isFenced || this.#isPermitted()),
      isInJournal: (binding) => this.#isInJournal(binding),
      graceSeconds: graceSecondsUsual,
      isHeard: () => this.#isTold,
      isOpen: () => this.#line !== undefined,
      send: (report) => {
        const id = (this.#ids += 1);
        this.#line?.say({ kind: 'report', id, report });
        return id;
      },
    });
    parts.driver.attach(
      (event) => this.#jobs.happened(event),
      () => this.#jobs.found(),
    );
  }

  get isOpen(): boolean {
    return this.#isTold;
  }

  start(): void {
    void this.#register();
  }

  /** Ends the talk and leaves what runs alone. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#cut();
  }

  // ---- registering, opening, being cut -------------------------------------------------------------------

  async #register(): Promise<void> {
    const { streams, env, offer, leaseSeconds = leaseSecondsUsual } = this.parts;
    // The same again until its outcome is known: one start is one epoch.
    this.#registration ??= `register/${offer.node}/${env.uuid()}`;
    const input: Register = { ...offer, operation: this.#registration, leaseSeconds };
    const outcome = await streams
      .register(input)
      .catch((error: unknown): Outcome<never> => ({ kind: 'UnknownOutcome', message: String(error) }));
    if (this.#isClosed) return;
    if (outcome.kind !== 'Committed' && outcome.kind !== 'AlreadyCommitted') {
      this.parts.onProblem(`cannot register: ${outcome.message}`);
      this.#later(() => void this.#register());
      return;
    }
    this.#registration = undefined;
    this.#epoch = outcome.result.epoch;
    this.#journalSince = outcome.result.journalSince;
    this.#open();
  }

  #open(): void {
    const { streams, env, offer } = this.parts;
    if (this.#isClosed || this.#epoch === undefined) return;
    const number = (this.#lineNumber += 1);
    this.#heardAt = env.clock.monotonic();
    const id = this.#nextRenewal();
    this.#line = streams.open(
      { node: offer.node, epoch: this.#epoch, id },
      {
        hear: (message) => {
          if (number === this.#lineNumber && this.#line !== undefined) this.#hear(message);
        },
        hasRoom: () => true,
      },
    );
    this.#timer = this.parts.wheel.after(this.#renewMs, () => this.#renew());
    this.#jobs.opened();
  }

  #cut(): void {
    this.#timer?.cancel();
    this.#line?.close();
    this.#line = undefined;
    this.#isTold = false;
    this.#jobs.cut();
    if (this.#permit === undefined) return;
    const { until, fence } = this.#permit;
    const leftMs = msBetween(this.parts.env.clock.boot(), until) - fence.graceSeconds * 1_000;
    this.parts.wheel.after(Math.max(0, leftMs), () => this.#keepFence());
  }

  /** Tries again after a pause that grows while it goes on failing. */
  #later(again: () => void): void {
    const { env, wheel } = this.parts;
    this.#failures += 1;
    this.#timer = wheel.after(backoffAfter(backoff, this.#failures, env.random), again);
  }

  // ---- renewing ------------------------------------------------------------------------------------------

  #nextRenewal(): number {
    const id = (this.#ids += 1);
    this.#sent.set(id, this.parts.env.clock.boot());
    for (const old of this.#sent.keys()) if (this.#sent.size > sentMax) this.#sent.delete(old);
    return id;
  }

  #renew(): void {
    const { env, wheel } = this.parts;
    this.#keepFence();
    if (msBetween(this.#heardAt, env.clock.monotonic()) > this.#renewMs * silentPeriodsMax) {
      this.#cut();
      this.#later(() => this.#open());
      return;
    }
    const usage = this.parts.usage?.() ?? [];
    this.#line?.say({ kind: 'renew', id: this.#nextRenewal(), ...(usage.length > 0 && { usage }) });
    this.#timer = wheel.after(this.#renewMs, () => this.#renew());
  }

  /** A renewal counts from when it was sent: the control plane may have seen it at any time after that (DESIGN §8). */
  #renewed({ id, fence, renewSeconds }: NodeHears & { readonly kind: 'renewed' }): void {
    const { env, wheel, driver } = this.parts;
    this.#heardAt = env.clock.monotonic();
    this.#failures = 0;
    const isFirst = this.#permit === undefined;
    const sentAt = this.#sent.get(id);
    if (sentAt !== undefined) {
      const until = plusMs(sentAt, fence.permitSeconds * 1_000);
      this.#permit = { until, fence };
      driver.permit({
        startUntil: plusMs(until, -fence.graceSeconds * 1_000),
        killAt: plusMs(until, -fence.killMarginSeconds * 1_000),
        overAt: until,
      });
      this.#jobs.permitted();
    }
    if (renewSeconds * 1_000 === this.#renewMs && !isFirst) return;
    this.#renewMs = renewSeconds * 1_000;
    this.#timer?.cancel();
    // Nodes that came together do not go on renewing together.
    this.#timer = wheel.after(this.#renewMs * (0.2 + 0.8 * env.random.float()), () => this.#renew());
  }

  #isInJournal({ knownSince }: NodeBinding): boolean {
    const began = this.#journalSince;
    return began === undefined || knownSince === undefined || !isOlderEpoch(knownSince, began);
  }

  #isPermitted(): boolean {
    if (this.#permit === undefined) return false;
    const { until, fence } = this.#permit;
    return msBetween(this.parts.env.clock.boot(), until) > fence.graceSeconds * 1_000;
  }

  /** In time before no renewal permits them any more, fenced jobs are asked to stop. The driver ends them for certain. */
  #keepFence(): void {
    if (this.#permit !== undefined && !this.#isPermitted()) this.#jobs.stopFenced();
  }

  // ---- hearing -------------------------------------------------------------------------------------------

  #hear(message: NodeHears): void {
    switch (message.kind) {
      case 'renewed':
        return this.#renewed(message);
      case 'bindings':
        if (message.ends === true && !this.#isTold) this.parts.onHeard?.();
        this.#isTold ||= message.ends === true;
        return this.#jobs.told(message);
      case 'reported':
        return this.#jobs.answered(message.id, message.outcome);
      case 'attach':
        return this.parts.sessions?.attach(message.id, message.request);
      case 'closed':
        this.parts.onProblem(message.message);
        this.#cut();
        return this.#later(() => this.#open());
      case 'stale':
        this.parts.onProblem(`registers again: ${message.message}`);
        this.#cut();
        this.#epoch = undefined;
        return this.#later(() => void this.#register());
    }
  }
}
