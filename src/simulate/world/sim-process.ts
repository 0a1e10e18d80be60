import type { Env } from '../../env/env.js';
import { sleepOn } from '../../env/sleep.js';
import type { ClockShape, VirtualMachine, VirtualTime } from '../../env/virtual.js';

/** One life of a process: from a start to the crash that ends it. Nothing of it happens afterwards. */
export class Life {
  readonly env: Env;
  /** Aborts when the process is asked to stop. */
  readonly stopping = new AbortController();
  /** Ends when the process has done all it does. */
  main: Promise<void> | undefined;
  #isOver = false;
  readonly #onEnd: (() => void)[] = [];

  constructor(
    readonly member: SimProcess,
    readonly machine: VirtualMachine,
  ) {
    const { env } = machine;
    const after: Env['after'] = (ms, callback) =>
      env.after(ms, () => {
        if (!this.#isOver) callback();
      });
    this.env = {
      ...env,
      after,
      sleep: (ms, signal) => sleepOn(after, ms, signal),
      yield: () => new Promise((resolve) => after(0, resolve)),
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    for (const callback of this.#onEnd) callback();
  }

  /** What others notice of its end: the kernel of its machine. */
  onEnd(callback: () => void): void {
    this.#onEnd.push(callback);
  }

  /** What comes of a call that leaves the process: after a crash, nothing ever. */
  whileAlive<T>(call: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      call.then(
        (value) => {
          if (!this.#isOver) resolve(value);
        },
        (error: unknown) => {
          if (!this.#isOver) reject(error);
        },
      );
    });
  }
}

/** A process of the world that can crash and be started again. Each life has clocks, randomness and calls of its own. */
export class SimProcess {
  #life: Life | undefined;
  #lives = 0;

  constructor(
    private readonly time: VirtualTime,
    readonly name: string,
    private readonly main: (life: Life) => Promise<void>,
    private readonly onFailure: (error: Error) => void,
    private readonly shape: ClockShape = {},
  ) {}

  get life(): Life | undefined {
    return this.#life;
  }

  start(): void {
    if (this.#life !== undefined) return;
    this.#lives += 1;
    const life = new Life(this, this.time.machine(`${this.name}.${this.#lives}`, this.shape));
    this.#life = life;
    life.env.after(0, () => {
      life.main = this.main(life).catch((cause: unknown) => {
        if (!life.isOver) this.onFailure(new Error(`${this.name} failed: ${String(cause)}`, { cause }));
      });
    });
  }

  /** Asks it to stop, as an operator does, and ends it when it has, or after `forMsMax`. */
  stop(forMsMax: number): void {
    const life = this.#life;
    if (life === undefined) return;
    const end = (): void => {
      if (this.#life === life) this.crash();
    };
    void life.main?.then(end);
    life.env.after(forMsMax, end);
    life.stopping.abort();
  }

  crash(): void {
    this.#life?.end();
    this.#life = undefined;
  }
}
