import type { Clock, Env } from '../../env/env.js';
import { msBetween } from '../../env/instant.js';

const stretchMs = 5;

/** Long work for somebody who asks, in stretches of some milliseconds between which others get their turn. */
export class Stretch {
  #from;

  constructor(
    private readonly env: {
      readonly clock: Pick<Clock, 'monotonic'>;
      readonly yield: Env['yield'];
    },
  ) {
    this.#from = env.clock.monotonic();
  }

  readonly mayGoOn = (): boolean => msBetween(this.#from, this.env.clock.monotonic()) < stretchMs;

  /** Goes on at once while it may. */
  async next(): Promise<void> {
    if (this.mayGoOn()) return;
    await this.env.yield();
    this.#from = this.env.clock.monotonic();
  }
}
