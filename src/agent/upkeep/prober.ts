import type { Timer } from '../../env/env.js';
import type { Wheel } from '../wheel.js';
import {
  afterAnswer,
  noStreak,
  type Probe,
  type ProbeAnswer,
  type Streak,
  thresholdsOf,
} from './probe-streak.js';

export interface ProberParts {
  readonly probe: Probe;
  readonly wheel: Wheel;
  /** Asks once. The answer comes once, within the timeout of the probe. */
  readonly ask: (answer: (problem: string | undefined) => void) => void;
  /** Told of every answer, with what the answers so far count as. */
  readonly onAnswer: (answer: ProbeAnswer, verdict: Streak['verdict']) => void;
  /** Whether it is asked sooner than its period until it has passed once. */
  readonly isEager: boolean;
}

// An eager probe is asked again after this, then after twice as long, up to its period.
const eagerMs = 250;

/** Asks one probe of one execution again and again, until it is closed. Never two questions at once. */
export class Prober {
  #streak = noStreak;
  #asked = 0;
  #hasPassed = false;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(private readonly parts: ProberParts) {
    const { initialDelaySeconds } = thresholdsOf(parts.probe);
    this.#timer = parts.wheel.after(initialDelaySeconds * 1_000, () => this.#ask());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #ask(): void {
    const { probe, wheel, ask, onAnswer, isEager } = this.parts;
    const rules = thresholdsOf(probe);
    this.#asked += 1;
    ask((problem) => {
      if (this.#isClosed) return;
      const isPassing = problem === undefined;
      this.#streak = afterAnswer(this.#streak, isPassing, rules);
      this.#hasPassed ||= this.#streak.verdict === 'Passing';
      const periodMs = rules.periodSeconds * 1_000;
      const isSoon = isEager && !this.#hasPassed;
      const nextMs = isSoon ? Math.min(periodMs, eagerMs * 2 ** Math.min(this.#asked - 1, 20)) : periodMs;
      this.#timer = wheel.after(nextMs, () => this.#ask());
      onAnswer({ isPassing, message: problem ?? '' }, this.#streak.verdict);
    });
  }
}
