import type { Env } from './env.js';

const rung = new Error('the alarm was rung');

/** A sleep that can be cut short. A ring while nobody sleeps is kept: the next sleep ends at once. */
export class Alarm {
  #isRung = false;
  #wake: (() => void) | undefined;

  constructor(private readonly env: Env) {}

  ring(): void {
    // Who sleeps is woken by the first of many.
    if (this.#isRung) return;
    this.#isRung = true;
    this.#wake?.();
  }

  /** Whether it slept the whole time: neither was the alarm rung, nor did the signal abort. */
  async sleep(ms: number, signal: AbortSignal): Promise<boolean> {
    // Under load it is rung before nearly every sleep: nothing is made for one that does not take place.
    if (this.#isRung || signal.aborted) {
      this.#isRung = false;
      return false;
    }
    const woken = new AbortController();
    // With a reason: without one an error is made, with a trace, each time.
    const wake = (): void => woken.abort(rung);
    this.#wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    const hasSlept = await this.env.sleep(ms, woken.signal).then(
      () => true,
      () => false,
    );
    signal.removeEventListener('abort', wake);
    this.#wake = undefined;
    this.#isRung = false;
    return hasSlept;
  }
}
