import { type Backoff, backoffAfter } from '../env/backoff.js';
import type { Env } from '../env/env.js';
import { type Rate, TokenBucket } from '../env/token-bucket.js';

const backoff: Backoff = { firstMs: 100, mostMs: 10_000 };
const repeats: Rate = { perSecond: 1_000, burst: 5_000 };

/**
 * How an authority that does not answer is waited for. All that one scheduler sends shares it, so that an outage does not
 * multiply what is sent (L8): one pause, longer each time, and one budget for what is sent again.
 */
export class Patience {
  readonly #repeats: TokenBucket;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(private readonly parts: { readonly env: Pick<Env, 'random'>; readonly nowMs: () => number }) {
    this.#repeats = new TokenBucket(repeats, parts.nowMs());
  }

  /** Until then nothing is sent; 0 or past if there is no pause. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /** What was sent last was not answered: it is not known whether more would be. */
  get isInDoubt(): boolean {
    return this.#failures > 0;
  }

  /** Whether something that was sent got an answer. */
  note(isAnswered: boolean): void {
    const nowMs = this.parts.nowMs();
    if (isAnswered) this.#failures = 0;
    // What was on its way together fails together: that is one failure.
    else if (this.#pausedUntilMs <= nowMs) {
      this.#failures += 1;
      this.#pausedUntilMs = nowMs + this.backoffMs(this.#failures);
    }
  }

  /** How long one that was sent so many times waits. */
  backoffMs(attempts: number): number {
    return backoffAfter(backoff, attempts, this.parts.env.random);
  }

  /** Takes from the budget for what is sent again: how long to wait and ask again, 0 if it may be sent. */
  msUntilRepeat(): number {
    const nowMs = this.parts.nowMs();
    return this.#repeats.take(nowMs) ? 0 : Math.max(1, this.#repeats.msUntilNext(nowMs));
  }
}
