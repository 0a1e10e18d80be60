import { setImmediate as realSetImmediate } from 'node:timers';
import type { Env, Timer } from './env.js';
import { EventHeap, type HeapEvent } from './event-heap.js';
import { GlobalSeal } from './global-seal.js';
import { bootInstant, monotonicInstant, wallInstant } from './instant.js';
import { bytesFrom, type Random, SeededRandom, uuidFrom } from './random.js';
import { sleepOn } from './sleep.js';
import { checkTimerDelay } from './timer-delay.js';

/** How a virtual run ended. `waiting` names the tasks that had not finished. */
export interface RunEnd {
  /**
   * idle: nothing is left to do. deadlock: tasks wait, but no event can ever wake them.
   * limit: virtual time reached the limit first.
   */
  readonly kind: 'idle' | 'deadlock' | 'limit';
  readonly atMs: number;
  readonly events: number;
  readonly waiting: readonly string[];
}

/** How one machine's clocks differ from the world's. */
export interface ClockShape {
  /** Milliseconds this machine counts per millisecond of the world: 1.001 runs fast. */
  readonly rate?: number;
  readonly wallOffsetMs?: number;
}

interface VirtualEvent extends HeapEvent {
  // Changes only while the event is outside the heap.
  atMs: number;
  readonly machine: VirtualMachine;
  readonly dueMonotonicMs: number;
  readonly chain: Chain;
  run: () => void;
  cancelled: boolean;
}

/** Events each of which was set by the one before, within `progressMs`. */
interface Chain {
  readonly sinceMs: number;
  readonly length: number;
  /** Names the caller that set the event. Present only on an event that makes its chain too long. */
  readonly tooLong?: Error;
}

// Wall time at the start of every run: 2026-01-01T00:00:00Z.
const wallStartMs = 1_767_225_600_000;

// Two computations of one instant on a drifting clock may differ by a rounding error. An event that is
// closer to its due time than this is due.
const dueToleranceMs = 1e-6;

// The shortest positive delay of a timer. A clock that was started long ago cannot show a shorter step: the timer would fire
// while the clock reads the same, and code that waits for an instant would set the timer again without end.
const delayMsLeast = 1e-3;

// A chain of `chainMax` events within `progressMs` of world time is taken for endless, and the run fails.
const chainMax = 50_000;
const progressMs = 100;

// Cancelled events are taken out of the heap when there are this many and more of them than others.
const cancelledMin = 1_000;

// How many events one pass of the real event loop runs. More gains nothing, fewer costs time.
const eventsPerPass = 32;

/**
 * A world whose time moves only from event to event. It runs one event, lets all promise work that it
 * started settle, and goes on. One seed gives one order of events: nothing depends on the real clock, on
 * real timers or on the order in which a heap happens to hold equal elements.
 */
export class VirtualTime {
  readonly random: Random;
  readonly #tiebreaks: Random;
  readonly #trace: ((line: string) => void) | undefined;
  readonly #heap = new EventHeap<VirtualEvent>();
  readonly #waiting = new Map<number, string>();
  readonly #machines = new Set<string>();
  #cancelled = 0;
  #tasks = 0;
  #nowMs = 0;
  #sequence = 0;
  #eventsRun = 0;
  #running = false;
  // The chain of the event that runs or ran last. All promise work of an event settles before the next event.
  #chain: Chain = { sinceMs: 0, length: 0 };
  #failure: { readonly error: Error } | undefined;

  constructor(options: { seed: number | string; trace?: (line: string) => void }) {
    this.random = new SeededRandom(`seed ${options.seed}`);
    this.#tiebreaks = this.random.stream('tiebreak');
    this.#trace = options.trace;
  }

  /** Milliseconds of world time since the start: what an all-knowing observer would read. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** A new machine. Its name chooses its random streams, so no two may share one. */
  machine(name: string, shape: ClockShape = {}): VirtualMachine {
    if (this.#machines.has(name)) throw new Error(`this world has a machine ${name} already`);
    this.#machines.add(name);
    return new VirtualMachine(this, name, shape);
  }

  /** Starts a task as an event of its own. A task that rejects ends the run with its error. */
  spawn(machine: VirtualMachine, name: string, task: (env: Env) => Promise<void>): void {
    const id = this.#tasks++;
    this.#waiting.set(id, name);
    machine.env.after(0, () => {
      task(machine.env).then(
        () => this.#waiting.delete(id),
        (cause: unknown) => this.#fail(new Error(`task ${name} failed: ${String(cause)}`, { cause })),
      );
    });
  }

  /** Runs until nothing is left, or until an event would lie past `limitMs`. May be called again to go on. */
  run(limitMs = Number.POSITIVE_INFINITY): Promise<RunEnd> {
    if (this.#running) throw new Error('this virtual world is running already');
    const seal = new GlobalSeal();
    this.#running = true;
    return new Promise<RunEnd>((resolve, reject) => {
      const finish = (settle: () => void): void => {
        this.#running = false;
        seal.remove();
        settle();
      };
      // Node drains all promise work between two immediates, so an event has settled when the next immediate
      // starts. The last immediate of a pass runs no event: whatever the real event loop does between two
      // passes (a test runner's messages, say) finds the globals unsealed.
      const pass = (): void => {
        let left = eventsPerPass;
        let done = false;
        const step = (): void => {
          seal.leave();
          if (done) return;
          left -= 1;
          if (this.#failure !== undefined) {
            done = true;
            const { error } = this.#failure;
            this.#failure = undefined;
            finish(() => reject(error));
            return;
          }
          if (left === 0) {
            pass();
            return;
          }
          const event = this.#next(limitMs);
          if (event === undefined) {
            done = true;
            const end = this.#end(limitMs);
            finish(() => resolve(end));
            return;
          }
          seal.enter();
          this.#runEvent(event);
        };
        for (let count = 0; count < eventsPerPass; count++) realSetImmediate(step);
      };
      pass();
    });
  }

  /** @internal for VirtualMachine */
  schedule(machine: VirtualMachine, atMs: number, dueMonotonicMs: number, run: () => void): Timer {
    const event: VirtualEvent = {
      atMs,
      tiebreak: this.#tiebreaks.uint32(),
      sequence: this.#sequence++,
      machine,
      dueMonotonicMs,
      chain: this.#nextLink(machine, atMs),
      run,
      cancelled: false,
    };
    this.#heap.push(event);
    return { cancel: () => this.#cancel(event) };
  }

  #nextLink(machine: VirtualMachine, atMs: number): Chain {
    const { sinceMs, length } = this.#chain;
    if (this.#nowMs - sinceMs >= progressMs) return { sinceMs: this.#nowMs, length: 0 };
    if (length < chainMax) return { sinceMs, length: length + 1 };
    const tooLong = new Error(
      `virtual time stands at ${this.#nowMs} ms: ${chainMax} events were run, each set by the one before; ` +
        `the last was set by ${machine.name}, ${atMs - this.#nowMs} ms ahead`,
    );
    return { sinceMs, length, tooLong };
  }

  #cancel(event: VirtualEvent): void {
    if (event.cancelled) return;
    event.cancelled = true;
    // Whatever the callback holds on to can go now, long before its time would have come.
    event.run = () => undefined;
    this.#cancelled += 1;
    if (this.#cancelled >= cancelledMin && this.#cancelled > this.#heap.size / 2) {
      this.#heap.prune((candidate) => candidate.cancelled);
      this.#cancelled = 0;
    }
  }

  #next(limitMs: number): VirtualEvent | undefined {
    for (;;) {
      const event = this.#heap.peek();
      if (event === undefined) return undefined;
      if (event.cancelled) {
        this.#heap.pop();
        this.#cancelled = Math.max(0, this.#cancelled - 1);
        continue;
      }
      if (event.atMs > limitMs) return undefined;
      this.#heap.pop();
      this.#nowMs = Math.max(this.#nowMs, event.atMs);
      const remainingMs = event.machine.remainingMs(event.dueMonotonicMs);
      if (remainingMs <= dueToleranceMs) return event;
      // The machine slept in between: its monotonic clock has not reached the event yet.
      event.atMs = this.#nowMs + remainingMs;
      this.#heap.push(event);
    }
  }

  #runEvent(event: VirtualEvent): void {
    this.#eventsRun += 1;
    // From here on there is nothing left to cancel.
    event.cancelled = true;
    this.#trace?.(`${event.atMs} ${event.sequence} ${event.machine.name}`);
    this.#chain = event.chain;
    if (event.chain.tooLong !== undefined) return this.#fail(event.chain.tooLong);
    try {
      event.run();
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #fail(error: Error): void {
    this.#failure ??= { error };
  }

  #end(limitMs: number): RunEnd {
    const waiting = [...this.#waiting.values()];
    const kind = this.#heap.size > 0 ? 'limit' : waiting.length > 0 ? 'deadlock' : 'idle';
    if (kind === 'limit') this.#nowMs = Math.max(this.#nowMs, limitMs);
    return { kind, atMs: this.#nowMs, events: this.#eventsRun, waiting };
  }
}

/** One machine of the world: clocks that drift and sleep on their own, random streams of its own. */
export class VirtualMachine {
  readonly env: Env;
  readonly #world: VirtualTime;
  readonly #rate: number;
  #sleptMs = 0;
  #sleepsUntilMs = 0;

  constructor(
    world: VirtualTime,
    readonly name: string,
    shape: ClockShape,
  ) {
    this.#world = world;
    this.#rate = shape.rate ?? 1;
    const random = world.random.stream(`machine ${name}`);
    const ids = random.stream('ids');
    const secrets = random.stream('secrets');
    // Each machine booted at another time: clocks of two machines must never be compared, and here it shows.
    const bootOffsetMs = random.stream('boot').integer(1_000_000_000);
    const monotonicOffsetMs = random.stream('monotonic').integer(1_000_000_000);
    const wallOffsetMs = wallStartMs + (shape.wallOffsetMs ?? 0);
    const after: Env['after'] = (ms, callback) => {
      checkTimerDelay(ms);
      const dueMs = this.#monotonicMs() + (ms === 0 ? 0 : Math.max(ms, delayMsLeast));
      return world.schedule(this, world.nowMs + this.remainingMs(dueMs), dueMs, callback);
    };
    this.env = {
      clock: {
        monotonic: () => monotonicInstant(monotonicOffsetMs + this.#monotonicMs()),
        boot: () => bootInstant(bootOffsetMs + world.nowMs * this.#rate),
        wall: () => wallInstant(wallOffsetMs + world.nowMs * this.#rate),
      },
      random: random.stream('env'),
      after,
      sleep: (ms, signal) => sleepOn(after, ms, signal),
      yield: () => new Promise((resolve) => after(0, resolve)),
      uuid: () => uuidFrom(ids),
      secret: (bytes) => bytesFrom(secrets, bytes),
    };
  }

  /** Suspends the machine for `ms` of world time from now: nothing of it runs and its monotonic clock stands. */
  suspend(ms: number): void {
    const untilMs = this.#world.nowMs + ms;
    if (untilMs <= this.#sleepsUntilMs) return;
    this.#sleptMs += untilMs - Math.max(this.#world.nowMs, this.#sleepsUntilMs);
    this.#sleepsUntilMs = untilMs;
  }

  /** World milliseconds until this machine's monotonic clock shows `dueMonotonicMs`, sleep included. */
  remainingMs(dueMonotonicMs: number): number {
    const asleepMs = Math.max(0, this.#sleepsUntilMs - this.#world.nowMs);
    return asleepMs + Math.max(0, dueMonotonicMs - this.#monotonicMs()) / this.#rate;
  }

  #monotonicMs(): number {
    const asleepMs = Math.max(0, this.#sleepsUntilMs - this.#world.nowMs);
    return (this.#world.nowMs - (this.#sleptMs - asleepMs)) * this.#rate;
  }
}
