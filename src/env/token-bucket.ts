/** How often something may happen: `perSecond` on average, `burst` at once after a quiet time. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

// A wait of less than this is rounding.
const roundingTokens = 1e-9;

/** Time is given by the caller, so that it can be on any clock as long as it is always the same one. */
export class TokenBucket {
  #tokens: number;
  #atMs: number;

  constructor(
    private readonly rate: Rate,
    nowMs: number,
  ) {
    this.#tokens = rate.burst;
    this.#atMs = nowMs;
  }

  take(nowMs: number): boolean {
    this.#fill(nowMs);
    if (this.#tokens < 1 - roundingTokens) return false;
    this.#tokens = Math.max(0, this.#tokens - 1);
    return true;
  }

  /** How long until there is a token again; 0 if there is one. */
  msUntilNext(nowMs: number): number {
    return this.msUntil(1, nowMs);
  }

  /** How long until so many more have come as it takes, if those before the last are taken as they come. */
  msUntil(tokens: number, nowMs: number): number {
    this.#fill(nowMs);
    const missing = tokens - this.#tokens;
    return missing <= roundingTokens ? 0 : (missing / this.rate.perSecond) * 1_000;
  }

  #fill(nowMs: number): void {
    const { burst, perSecond } = this.rate;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = nowMs;
  }
}
