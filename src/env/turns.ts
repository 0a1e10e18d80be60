/**
 * Those that yield, in order: one of them goes on in each turn of the event loop. All in one turn, their stretches
 * would add up to a long one for timers, sockets and everybody else.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#goOn);
    });
  }

  readonly #goOn = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#goOn);
  };
}
