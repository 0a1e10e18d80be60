import type { Env, Timer } from '../../env/env.js';
import { type BootInstant, msBetween } from '../../env/instant.js';
import type { Permit } from '../runner.js';

// Timers of the machine do not count suspend, boot time does: it is looked at this often while something is fenced.
const lookMs = 250;

/**
 * The fence deadlines of one machine, on boot time. It asks for the end of what is fenced when no renewal permits it any
 * more, and says whether more of it may start. Without a permit nothing may.
 */
export class FenceWatch {
  #permit: Permit | undefined;
  #timer: Timer | undefined;

  constructor(
    private readonly parts: {
      readonly env: Env;
      /** Whether anything fenced is there. */
      readonly isFencing: () => boolean;
      /** Ends all of it. */
      readonly kill: () => void;
    },
  ) {}

  /** [S5] Counts for what was still permitted when it came: a machine that woke up too late ends the rest first. */
  permit(permit: Permit): void {
    if (this.#permit !== undefined && this.#leftMs(this.#permit.killAt) <= 0 && this.parts.isFencing())
      this.parts.kill();
    this.#permit = permit;
    this.watch();
  }

  /** [S5] Nothing fenced starts from s+D−G on. */
  mayStart(): boolean {
    return this.#permit !== undefined && this.#leftMs(this.#permit.startUntil) > 0;
  }

  /** How long ago the permit ended; what ended later than that overran its fence. */
  overrunMs(): number {
    return this.#permit === undefined ? 0 : Math.max(0, -this.#leftMs(this.#permit.overAt));
  }

  /** Something fenced is there, from now until `isFencing` says no. */
  watch(): void {
    if (this.#timer !== undefined || !this.parts.isFencing()) return;
    const leftMs = this.#permit === undefined ? 0 : this.#leftMs(this.#permit.killAt);
    if (leftMs <= 0) this.parts.kill();
    // Also after the kill, until nothing is left: a process may need to be asked twice.
    const nextMs = leftMs <= 0 ? lookMs : Math.min(leftMs, lookMs);
    this.#timer = this.parts.env.after(nextMs, () => {
      this.#timer = undefined;
      this.watch();
    });
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #leftMs(at: BootInstant): number {
    return msBetween(this.parts.env.clock.boot(), at);
  }
}
