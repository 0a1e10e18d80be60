import type { Env } from '../../env/env.js';
import { msBetween, type MonotonicInstant } from '../../env/instant.js';

/** One replica's stay at one stage. */
interface Stay {
  readonly id: string;
  since: MonotonicInstant;
  /** Since when its node has been heard of without a break; undefined: it is not. */
  heardSince: MonotonicInstant | undefined;
}

export interface StayAges {
  readonly inStageMs: number;
  readonly heardMs: number;
}

/**
 * How long this process has seen each replica where it is, on its own clock: what deadlines are counted from (DESIGN §5).
 * One record for each of very many, and an id that is kept elsewhere already.
 */
export class Stays {
  readonly #byKey = new Map<string, Stay>();

  constructor(private readonly env: Env) {}

  look(key: string, id: string, isHeard: boolean): StayAges {
    const now = this.env.clock.monotonic();
    let stay = this.#byKey.get(key);
    if (stay?.id !== id) {
      stay = { id, since: now, heardSince: undefined };
      this.#byKey.set(key, stay);
    }
    if (!isHeard) stay.heardSince = undefined;
    else stay.heardSince ??= now;
    return {
      inStageMs: msBetween(stay.since, now),
      heardMs: stay.heardSince === undefined ? 0 : msBetween(stay.heardSince, now),
    };
  }

  /** Somebody saw it come there, before anybody looked. */
  began(key: string, id: string, since: MonotonicInstant): void {
    const stay = this.#byKey.get(key);
    if (stay?.id !== id) this.#byKey.set(key, { id, since, heardSince: undefined });
    else if (msBetween(since, stay.since) > 0) stay.since = since;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  get size(): number {
    return this.#byKey.size;
  }
}
