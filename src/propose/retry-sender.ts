import type { Env, Timer } from '../env/env.js';
import { Fifo } from '../env/fifo.js';
import type { Outcome, Records } from '../model/ports.js';
import { outcomeOfError } from './outcome-of-error.js';
import type { Patience } from './patience.js';

export interface RetrySenderParts {
  readonly env: Env;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  readonly patience: Patience;
  readonly records: Pick<Records, 'version'>;
}

export type KnownOutcome = Exclude<Outcome<unknown>, { kind: 'UnknownOutcome' }>;

/** A few flushes of the authority; the others wait in line. */
const underWayMax = 64;

/**
 * Sends operations one by one, each again as it was, under its own id, until its outcome is known or nobody waits for it
 * any more.
 *
 * Invariant: while it is in doubt whether the authority answers, one at most is under way, and none in the common pause.
 */
export class RetrySender {
  readonly #line = new Fifo<() => void>();
  readonly #resting = new Set<() => void>();
  #underWay = 0;
  #timer: Timer | undefined;

  constructor(private readonly parts: RetrySenderParts) {
    // Once for all: a listener for each that waits would be thousands.
    parts.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  /** Undefined if `isOpen` said that it does not matter any more, or the term is over. */
  async untilKnown(
    send: () => Promise<Outcome<unknown>>,
    isOpen: () => boolean,
  ): Promise<KnownOutcome | undefined> {
    const { patience, signal, records } = this.parts;
    for (let attempts = 1; ; attempts += 1) {
      await this.#turn();
      try {
        if (signal.aborted || !isOpen()) return undefined;
        const outcome = await send().catch((error: unknown) => outcomeOfError(error, records.version));
        patience.note(outcome.kind !== 'UnknownOutcome');
        if (outcome.kind !== 'UnknownOutcome') return outcome;
      } finally {
        this.#underWay -= 1;
        this.#admit();
      }
      await this.#rest(patience.backoffMs(attempts));
      for (let ms = patience.msUntilRepeat(); ms > 0 && !signal.aborted; ms = patience.msUntilRepeat())
        await this.#rest(ms);
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#line.push(resolve);
      this.#admit();
    });
  }

  #admit(): void {
    const { patience, signal, nowMs, env } = this.parts;
    while (this.#line.size > 0) {
      // Those that a term leaves behind go on to find that it is over.
      if (!signal.aborted) {
        if (this.#underWay >= (patience.isInDoubt ? 1 : underWayMax)) return;
        const pauseMs = patience.pausedUntilMs - nowMs();
        if (pauseMs > 0) {
          // Less than this would be rounding, and time might not go on.
          this.#timer ??= env.after(Math.max(1, pauseMs), () => {
            this.#timer = undefined;
            this.#admit();
          });
          return;
        }
      }
      this.#underWay += 1;
      this.#line.shift()?.();
    }
  }

  #rest(ms: number): Promise<void> {
    const { env, signal } = this.parts;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#resting.delete(end);
        resolve();
      };
      const timer = env.after(ms, end);
      this.#resting.add(end);
    });
  }

  #end(): void {
    this.#timer?.cancel();
    for (const end of this.#resting) end();
    this.#admit();
  }
}
