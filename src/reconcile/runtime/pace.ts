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
// So many large ones cost what they cost alone; more of them share that.
const unsharedMax = 4;

/**
 * How often keys are looked at that cost the more, the more parts they have: rarely, unless their mark changed. The
 * more of them there are, the longer each rests, so that all together cost no more than a few do.
 */
export class Pace {
  // Only large ones that were looked at lately, the longest ago first.
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
    const at = this.env.clock.monotonic();
    this.#looked.delete(key);
    for (const [other, last] of this.#looked) {
      if (msBetween(last.at, at) < restMsMax) break;
      this.#looked.delete(other);
    }
    const aloneMs = parts / this.partsPerMs;
    if (aloneMs < restMsMin) return;
    const sharing = Math.max(1, (this.#looked.size + 1) / unsharedMax);
    this.#looked.set(key, { at, restMs: Math.min(restMsMax, aloneMs * sharing), mark });
  }
}
