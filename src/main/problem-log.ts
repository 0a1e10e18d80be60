import type { Env } from '../env/env.js';
import { msBetween, type MonotonicInstant } from '../env/instant.js';
import { isBerthError } from '../model/errors.js';
import type { Problem } from '../reconcile/runtime/requeue.js';
import { TokenBucket } from '../env/token-bucket.js';

const rate = { perSecond: 1, burst: 20 };
const messageLengthMax = 500;

/** Tells people what controllers meet, in one line each. Past the rate lines are left out, and the next one says how many. */
export class ProblemLog {
  readonly #startedAt: MonotonicInstant;
  readonly #bucket: TokenBucket;
  #leftOut = 0;

  constructor(
    private readonly parts: {
      readonly env: Env;
      readonly onLine: (line: string) => void;
      readonly onDefect: (error: unknown) => void;
    },
  ) {
    this.#startedAt = parts.env.clock.monotonic();
    this.#bucket = new TokenBucket(rate, 0);
  }

  report(problem: Problem): void {
    const { env, onLine, onDefect } = this.parts;
    if (!this.#bucket.take(msBetween(this.#startedAt, env.clock.monotonic()))) {
      this.#leftOut += 1;
      return;
    }
    const more = this.#leftOut === 0 ? '' : ` (${this.#leftOut} more were left out)`;
    this.#leftOut = 0;
    onLine(`${shown(problem)}${more}`);
    if (problem.cause !== undefined && !isBerthError(problem.cause)) onDefect(problem.cause);
  }
}

function shown({ controller, key, message }: Problem): string {
  const line = message.replaceAll(/\s+/g, ' ').slice(0, messageLengthMax);
  return `${controller}${key === '' ? '' : ` ${key}`}: ${line}`;
}
