import type { Env } from '../../env/env.js';
import { type MonotonicInstant, msBetween } from '../../env/instant.js';

export interface Rate {
  readonly perSecond: number;
  /** How many may come at once after a rest. */
  readonly burst: number;
}

/** [L8] How many replicas may be given away: in the whole cell, and where a brake slows repair down, in each zone. */
export interface RepairRates {
  readonly cell: Rate;
  readonly slowZone: Rate;
}

export const usualRepairRates: RepairRates = {
  cell: { perSecond: 100, burst: 100 },
  slowZone: { perSecond: 0.5, burst: 1 },
};

interface Bucket {
  left: number;
  at: MonotonicInstant;
}

/** Tokens that come back with time, in the cell and in every zone that is slowed down. */
export class RepairBudget {
  // Zones are few, and stay.
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    private readonly env: Env,
    private readonly rates: RepairRates = usualRepairRates,
  ) {}

  /** Takes one if there is one, and says 0; or says after how many milliseconds to ask again. */
  take(zone: string, isSlow: boolean): number {
    const needed: (readonly [string, Rate])[] = [
      ['', this.rates.cell],
      ...(isSlow ? [[zone, this.rates.slowZone] as const] : []),
    ];
    const waits = needed.map(([name, rate]) => this.#waitMs(name, rate));
    const waitMs = Math.max(...waits);
    if (waitMs > 0) return waitMs;
    for (const [name] of needed) {
      const bucket = this.#buckets.get(name);
      if (bucket !== undefined) bucket.left -= 1;
    }
    return 0;
  }

  #waitMs(name: string, { perSecond, burst }: Rate): number {
    const now = this.env.clock.monotonic();
    const before = this.#buckets.get(name) ?? { left: burst, at: now };
    const left = Math.min(burst, before.left + (msBetween(before.at, now) * perSecond) / 1_000);
    this.#buckets.set(name, { left, at: now });
    return left >= 1 ? 0 : Math.ceil(((1 - left) * 1_000) / perSecond);
  }
}
