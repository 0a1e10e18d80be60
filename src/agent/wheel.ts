import type { Env, Timer } from '../env/env.js';
import { EventHeap, type HeapEvent } from '../env/event-heap.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';

interface Turn extends HeapEvent {
  callback: (() => void) | undefined;
}

const tickMs = 50;

/**
 * Timers for many at the price of one: what is due within the same tick is called together, so that thousands of nodes
 * wake the process a few times a second and what they say leaves together. Late by up to a tick, never early.
 */
export class Wheel {
  readonly #heap = new EventHeap<Turn>();
  readonly #begun: MonotonicInstant;
  #sequence = 0;
  #isClosed = false;
  #timer: { readonly timer: Timer; readonly atMs: number } | undefined;

  constructor(private readonly env: Env) {
    this.#begun = env.clock.monotonic();
  }

  after(ms: number, callback: () => void): Timer {
    const atMs = Math.ceil((this.#nowMs() + ms) / tickMs) * tickMs;
    const turn: Turn = { atMs, tiebreak: 0, sequence: (this.#sequence += 1), callback };
    this.#heap.push(turn);
    this.#arm();
    return {
      cancel: () => {
        turn.callback = undefined;
      },
    };
  }

  /** Nothing is called any more. */
  close(): void {
    this.#timer?.timer.cancel();
    this.#isClosed = true;
  }

  #nowMs(): number {
    return msBetween(this.#begun, this.env.clock.monotonic());
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (this.#isClosed || next === undefined) return;
    if (this.#timer !== undefined && this.#timer.atMs <= next.atMs) return;
    this.#timer?.timer.cancel();
    const timer = this.env.after(Math.max(0, next.atMs - this.#nowMs()), () => this.#turn());
    this.#timer = { timer, atMs: next.atMs };
  }

  #turn(): void {
    this.#timer = undefined;
    // A timer of the machine may come a fraction early; the tick it was set for is due then.
    const untilMs = this.#nowMs() + 1;
    for (let turn = this.#heap.peek(); turn !== undefined && turn.atMs <= untilMs; turn = this.#heap.peek()) {
      this.#heap.pop();
      turn.callback?.();
    }
    this.#arm();
  }
}
