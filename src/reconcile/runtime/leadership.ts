import type { Env } from '../../env/env.js';
import { msBetween, type MonotonicInstant } from '../../env/instant.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Authority, Leading, LeadingTerm, Objects, Outcome, TakeLease } from '../../model/ports.js';
import type { Epoch } from '../../model/records.js';
import { reasonTable } from '../../model/reasons.js';
import { Alarm } from '../../env/alarm.js';

export interface LeadershipParts {
  readonly authority: Pick<Authority, 'takeLease' | 'renew' | 'resign'>;
  readonly objects: Pick<Objects, 'get'>;
  readonly env: Env;
  readonly lease: string;
  /** Names this process and no other. */
  readonly holder: string;
  readonly address?: string;
  readonly durationSeconds?: number;
  /** No other process can reach the store: its last holder is gone for certain, and nobody need be waited for. */
  readonly isAlone?: boolean;
}

// Of the duration, how much is kept between giving up and the moment when another may take the lease.
const marginShare = 0.2;
const looksPerDuration = 15;
const retriesPerDuration = 10;

/**
 * Leads while it holds a lease. That only one leads at a time is for speed and order; that an old leader's writes
 * do no harm is for the authority, which compares epochs (S8).
 */
export class Leadership implements Leading {
  readonly #durationMs: number;
  // The lease of another, as first seen: it may be passed over when it has stood like this for its duration.
  #watched: { readonly version: string; readonly since: MonotonicInstant } | undefined;
  #isLeading = false;

  constructor(private readonly parts: LeadershipParts) {
    this.#durationMs = (parts.durationSeconds ?? 15) * 1_000;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Takes the lease whenever it can and calls `onLead`, again for every term, until the signal aborts or `onLead`
   * ends by itself. `onLead` must end soon after its term's signal: the next term waits for it.
   */
  async run(onLead: (term: LeadingTerm) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const taken = await this.#candidate(signal);
      if (taken === undefined) return;
      if ((await this.#lead(taken, onLead, signal)) === 'Ended') return;
      await slept(this.parts.env, this.#durationMs / looksPerDuration, signal);
    }
  }

  /** Tries until the lease is its own; undefined: the signal aborted first. */
  async #candidate(signal: AbortSignal): Promise<{ epoch: Epoch; sentAt: MonotonicInstant } | undefined> {
    const { authority, env } = this.parts;
    let take: { readonly input: TakeLease; readonly firstSentAt: MonotonicInstant } | undefined;
    while (!signal.aborted) {
      const proof = this.#proof();
      const sentAt = env.clock.monotonic();
      // One whose outcome is not known is sent again as what it is, whatever the lease looks like by now: it may be its own.
      if (take === undefined && proof !== 'wait') take = { input: this.#take(proof), firstSentAt: sentAt };
      if (take !== undefined) {
        const outcome = await settled(authority.takeLease(take.input));
        if (outcome.kind === 'Committed' || outcome.kind === 'AlreadyCommitted') {
          // Others may have seen it since it was sent first.
          const since = outcome.kind === 'Committed' ? sentAt : take.firstSentAt;
          if (this.#leftMs(since) > 0) {
            this.#watched = undefined;
            return { epoch: outcome.result.epoch, sentAt: since };
          }
        }
        // A take that was refused is over; so is one that was learned of when the lease has nearly run out.
        if (outcome.kind !== 'UnknownOutcome') take = undefined;
      }
      const lookMs = this.#durationMs / looksPerDuration;
      await slept(env, lookMs * (0.75 + 0.5 * env.random.float()), signal);
    }
    return undefined;
  }

  #take(proof: 'none' | 'Alone' | number): TakeLease {
    const { lease, holder, address } = this.parts;
    return {
      ...{ operation: this.#newOperation(), name: lease, holder, durationSeconds: this.#durationMs / 1_000 },
      ...(address !== undefined && { address }),
      ...(proof !== 'none' && { unchangedSince: proof }),
    };
  }

  #newOperation(): string {
    return `take-lease/${this.parts.lease}/${this.parts.env.uuid()}`;
  }

  /** What entitles it to the lease now: nothing needed, its holder was waited out, or not yet. */
  #proof(): 'none' | 'wait' | 'Alone' | number {
    const { env, objects, lease, isAlone = false } = this.parts;
    if (isAlone) return 'Alone';
    const held = objects.get<Lease>('Lease', undefined, lease);
    if (held === undefined || held.spec.holder === '') {
      this.#watched = undefined;
      return 'none';
    }
    const now = env.clock.monotonic();
    const version = held.metadata.resourceVersion;
    if (this.#watched?.version !== version) this.#watched = { version, since: now };
    const isExpired = msBetween(this.#watched.since, now) >= held.spec.durationSeconds * 1_000;
    return isExpired ? Number(version) : 'wait';
  }

  async #lead(
    { epoch, sentAt }: { epoch: Epoch; sentAt: MonotonicInstant },
    onLead: (term: LeadingTerm) => Promise<void>,
    signal: AbortSignal,
  ): Promise<'Ended' | 'Lost'> {
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    let isLost = false;
    const giveUp = (why: string): void => {
      if (stop.signal.aborted) return;
      isLost = true;
      stop.abort(new Error(why));
    };
    this.#isLeading = true;
    const renewing = this.#renew(epoch, sentAt, giveUp, stop.signal);
    try {
      await onLead({ epoch, signal: stop.signal, giveUp });
    } finally {
      this.#isLeading = false;
      signal.removeEventListener('abort', onAbort);
      stop.abort(new Error('it ended by itself'));
      await renewing;
      if (!isLost) await this.#resign(epoch, signal.aborted ? 'Stopped' : 'WorkEnded');
    }
    return isLost ? 'Lost' : 'Ended';
  }

  /** Renews until the signal aborts, and ends the term when it may no longer count on the lease. */
  async #renew(
    epoch: Epoch,
    takenAt: MonotonicInstant,
    giveUp: (why: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { authority, env, lease, holder } = this.parts;
    const retryMs = this.#durationMs / retriesPerDuration;
    // A renewal counts from when it was sent: whoever watches the lease may see it at any time after that.
    let acknowledged = takenAt;
    let waitMs = this.#durationMs / 3;
    while (await slept(env, Math.max(0, Math.min(waitMs, this.#leftMs(acknowledged))), signal)) {
      if (this.#leftMs(acknowledged) <= 0) {
        giveUp(`the lease ${lease} was not renewed in time`);
        return;
      }
      const sentAt = env.clock.monotonic();
      const answered = new Alarm(env);
      let isAcknowledged = false;
      // An answer that comes late counts too, as long as the term lasts.
      void settled(authority.renew({ name: lease, holder, epoch })).then((outcome) => {
        if (outcome.kind === 'Committed' || outcome.kind === 'AlreadyCommitted') {
          if (msBetween(acknowledged, sentAt) > 0) acknowledged = sentAt;
          isAcknowledged = true;
        } else if (outcome.kind === 'Rejected' && reasonTable[outcome.reason].callerMay !== 'backoff') {
          giveUp(`the renewal of the lease ${lease} was rejected: ${outcome.reason}: ${outcome.message}`);
        }
        answered.ring();
      });
      await answered.sleep(Math.max(0, Math.min(retryMs, this.#leftMs(acknowledged))), signal);
      const sinceSentMs = msBetween(sentAt, env.clock.monotonic());
      waitMs = isAcknowledged ? this.#durationMs / 3 - sinceSentMs : retryMs - sinceSentMs;
    }
  }

  /** How long it may still count on the lease: until a margin before the moment when another may take it. */
  #leftMs(acknowledged: MonotonicInstant): number {
    const lastsMs = this.#durationMs * (1 - marginShare);
    return lastsMs - msBetween(acknowledged, this.parts.env.clock.monotonic());
  }

  /** Best effort: if it does not arrive, the next holder waits the lease out. */
  async #resign(epoch: Epoch, reason: string): Promise<void> {
    const { authority, env, lease, holder } = this.parts;
    const answered = new Alarm(env);
    void settled(authority.resign({ name: lease, holder, epoch, reason })).then(() => answered.ring());
    await answered.sleep(this.#durationMs / 3, new AbortController().signal);
  }
}

/** An error of the port is an outcome that is not known: the request may have gone out. */
function settled<T>(asked: Promise<Outcome<T>>): Promise<Outcome<T>> {
  return asked.catch((error: unknown) => ({ kind: 'UnknownOutcome', message: String(error) }));
}

const slept = (env: Env, ms: number, signal: AbortSignal): Promise<boolean> =>
  env.sleep(ms, signal).then(
    () => true,
    () => false,
  );
