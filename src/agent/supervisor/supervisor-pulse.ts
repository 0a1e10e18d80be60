import type { Env, Timer } from '../../env/env.js';
import { type MonotonicInstant, msBetween } from '../../env/instant.js';

const askEveryMs = 5_000;
// Counted in questions, not in time: whoever was stopped itself has not asked meanwhile.
const unansweredMax = 3;
const sayEvery = 12;

/**
 * Whether a supervisor still answers. One that is stopped, or stuck in the kernel, keeps its socket open: only that nothing
 * comes shows it.
 */
export class SupervisorPulse {
  #heardAt: MonotonicInstant;
  #unanswered = 0;
  #timer: Timer | undefined;

  constructor(
    private readonly parts: {
      readonly env: Env;
      readonly ask: () => void;
      /** Nothing has come for so long; told again while it goes on. */
      readonly onSilent: (silentMs: number) => void;
      readonly onHeardAgain: () => void;
    },
  ) {
    this.#heardAt = parts.env.clock.monotonic();
    this.#later();
  }

  /** Something came. */
  heard(): void {
    const wasSilent = this.#unanswered > unansweredMax;
    this.#heardAt = this.parts.env.clock.monotonic();
    this.#unanswered = 0;
    if (wasSilent) this.parts.onHeardAgain();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #later(): void {
    this.#timer = this.parts.env.after(askEveryMs, () => {
      this.#unanswered += 1;
      const over = this.#unanswered - unansweredMax - 1;
      if (over >= 0 && over % sayEvery === 0)
        this.parts.onSilent(msBetween(this.#heardAt, this.parts.env.clock.monotonic()));
      this.parts.ask();
      this.#later();
    });
  }
}
