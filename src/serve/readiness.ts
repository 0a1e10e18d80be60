import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { BerthError } from '../model/errors.js';
import type { Freshness } from '../objects/freshness.js';

/** Why a server is not ready, and for how long it has not been. */
export interface NotReady {
  readonly forMs: number;
  readonly message: string;
}

const lookEveryMs = 1_000;

/**
 * Whether this server can answer for the cell: it is up to date with the store, or was a moment ago. Looks every second, so
 * that whoever asks has an answer at once. A server can do without the others, so they do not count.
 */
export class Readiness {
  #notReady: { readonly since: MonotonicInstant; readonly message: string } | undefined;

  constructor(
    private readonly parts: {
      readonly freshness: Pick<Freshness, 'catchUp'>;
      readonly env: Env;
      /** Told in one line when the server stops being ready, and when it is ready again. */
      readonly onProblem: (line: string) => void;
      readonly onDefect: (error: unknown) => void;
    },
  ) {}

  /** Undefined: the server is ready. */
  notReady(): NotReady | undefined {
    if (this.#notReady === undefined) return undefined;
    const { since, message } = this.#notReady;
    return { forMs: msBetween(since, this.parts.env.clock.monotonic()), message };
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look();
      await this.parts.env.sleep(lookEveryMs, signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { freshness, env, onProblem, onDefect } = this.parts;
    const startedAt = env.clock.monotonic();
    try {
      await freshness.catchUp();
      if (this.#notReady !== undefined) onProblem('readiness: ready again');
      this.#notReady = undefined;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!(error instanceof BerthError)) onDefect(error);
      if (this.#notReady === undefined) onProblem(`readiness: not up to date with the store: ${message}`);
      this.#notReady = { since: this.#notReady?.since ?? startedAt, message };
    }
  }
}
