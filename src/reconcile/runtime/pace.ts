import type { Env } from '../../env/env.js';
import { type MonotonicInstant, msBetween } from '../../env/instant.js';

interface Looked {
  readonly at: MonotonicInstant;
  readonly restMs: number;
  readonly mark: unknown;
}

const restMsMin = 20;
// However large it is: somebody may be waiting for what it shows.
const restMsMax = 5_000;

/** How often keys are looked at that cost the more, the more parts they have: rarely, unless their mark changed. */
export class Pace {
  // Only large ones: there are few.
  readonly #looked = new Map<string, Looked>();

  constructor(
    private readonly env: Env,
    /** It rests a millisecond for so many parts. */
    private readonly partsPerMs: number,
  ) {}

  /** How long to wait before it is looked at again; 0: it may be at once. */
  restMs(key: string, mark?: unknown): number {
    const last = this.#looked.get(key);
    if (last === undefined || last.mark !== mark) return 0;
    return Math.max(0, last.restMs - msBetween(last.at, this.env.clock.monotonic()));
  }

  looked(key: string, parts: number, mark?: unknown): void {
    const restMs = Math.min(restMsMax, parts / this.partsPerMs);
    if (restMs < restMsMin) this.#looked.delete(key);
    else this.#looked.set(key, { at: this.env.clock.monotonic(), restMs, mark });
  }
}
