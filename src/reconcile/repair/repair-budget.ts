import type { Env } from '../../env/env.js';
import { type MonotonicInstant, msBetween } from '../../env/instant.js';
import { type Rate, TokenBucket } from '../../env/token-bucket.js';

/** [L8] How many replicas may be given away: in the whole cell, and where a brake slows repair down, in each zone. */
export interface RepairRates {
  readonly cell: Rate;
  readonly slowZone: Rate;
}

export const usualRepairRates: RepairRates = {
  cell: { perSecond: 100, burst: 100 },
  slowZone: { perSecond: 0.5, burst: 1 },
};

/** What is given away in the cell, and in every zone that is slowed down. Who finds nothing left waits in a line. */
export class RepairBudget {
  readonly #cell: Line;
  // Zones are few, and stay.
  readonly #slowZones = new Map<string, Line>();
  readonly #since: MonotonicInstant;

  constructor(
    private readonly env: Env,
    private readonly rates: RepairRates = usualRepairRates,
  ) {
    this.#since = env.clock.monotonic();
    this.#cell = new Line(rates.cell);
  }

  /** Takes one for the key, and says 0; or puts it in line, and says after how many milliseconds its turn comes. */
  take(key: string, zone: string, isSlow: boolean): number {
    const nowMs = msBetween(this.#since, this.env.clock.monotonic());
    for (const [name, line] of this.#slowZones) if (!isSlow || name !== zone) line.leave(key);
    const lines = isSlow ? [this.#zone(zone), this.#cell] : [this.#cell];
    for (const [at, line] of lines.entries()) {
      const waitMs = line.waitMs(key, nowMs);
      if (waitMs === 0) continue;
      // Who waits for its zone has no place in the cell: those behind it would wait for a turn that it does not take.
      for (const later of lines.slice(at + 1)) later.leave(key);
      return waitMs;
    }
    for (const line of lines) line.take(key, nowMs);
    return 0;
  }

  /** It is not to be given away, or not now: others need not wait for it. */
  leave(key: string): void {
    this.#cell.leave(key);
    for (const line of this.#slowZones.values()) line.leave(key);
  }

  #zone(name: string): Line {
    let line = this.#slowZones.get(name);
    if (line === undefined) {
      line = new Line(this.rates.slowZone);
      this.#slowZones.set(name, line);
    }
    return line;
  }
}

/**
 * Who waits for a token waits for the moment when that of its place comes, and asks once more then. Ten thousand that
 * asked for each token would keep everybody else waiting. It holds those that its caller keeps in line.
 */
class Line {
  /** In the order of their places: when the turn of each comes, as it was foreseen. */
  readonly #turnMs = new Map<string, number>();
  readonly #bucket: TokenBucket;

  constructor(rate: Rate) {
    this.#bucket = new TokenBucket(rate, 0);
  }

  /** How long until its turn; 0: it may take one. */
  waitMs(key: string, nowMs: number): number {
    const turnMs = this.#turnMs.get(key);
    if (turnMs !== undefined && turnMs > nowMs) return turnMs - nowMs;
    // Only those whose turn was foreseen for now are looked for, and they are at the front. Many are late together if
    // this process was: tokens do not gather for so long, and the line is foreseen anew as each asks.
    const ahead = turnMs === undefined ? this.#turnMs.size : this.#aheadOf(key);
    const waitMs = this.#bucket.msUntil(ahead + 1, nowMs);
    if (waitMs > 0) this.#turnMs.set(key, nowMs + waitMs);
    return waitMs;
  }

  take(key: string, nowMs: number): void {
    this.#bucket.take(nowMs);
    this.leave(key);
  }

  leave(key: string): void {
    this.#turnMs.delete(key);
  }

  #aheadOf(key: string): number {
    let ahead = 0;
    for (const other of this.#turnMs.keys()) {
      if (other === key) break;
      ahead += 1;
    }
    return ahead;
  }
}
