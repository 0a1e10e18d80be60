import { Alarm } from '../../env/alarm.js';
import type { Env } from '../../env/env.js';
import { Fifo } from '../../env/fifo.js';
import { msBetween, type MonotonicInstant } from '../../env/instant.js';

/** A replica that was seen to come to a stage, which it may be at for so long. */
interface Awaited {
  readonly key: string;
  /** What brought it there: see `stayId`. */
  readonly stay: string;
  readonly since: MonotonicInstant;
  readonly ms: number;
}

// Nearly all have left a stage after that long, and are forgotten then.
const soonMs = 10_000;
// How many are looked at before others get a turn.
const perTurn = 500;

/**
 * [L5] Wakes repair for replicas that stay at a stage for too long. A mass start brings a hundred thousand to one, and
 * nearly all leave it soon: so each costs one small object in a list and one look, and neither a key in the queue nor a
 * timer.
 *
 * Invariant: whoever is watched and stays is told of once its time is over, and not before. Each list is in the order of
 * its deadlines, because all in it have the same time and came one after the other.
 */
export class StageDeadlines {
  // Those that came less than `soonMs` ago and may stay longer.
  readonly #new = new Fifo<Awaited>();
  // All others, by how long they may stay.
  readonly #staying = new Map<number, Fifo<Awaited>>();
  readonly #alarm: Alarm;
  // When the earliest in a list is to be looked at; who comes earlier rings.
  #nextMs = Number.POSITIVE_INFINITY;
  readonly #startedAt: MonotonicInstant;

  constructor(
    private readonly parts: {
      readonly env: Env;
      /** Whether it is still there. */
      readonly isStill: (key: string, stay: string) => boolean;
      readonly onOver: (key: string, stay: string, since: MonotonicInstant) => void;
    },
  ) {
    this.#alarm = new Alarm(parts.env);
    this.#startedAt = parts.env.clock.monotonic();
  }

  /** How many are watched, those that have left and were not looked at since included. */
  get size(): number {
    let size = this.#new.size;
    for (const list of this.#staying.values()) size += list.size;
    return size;
  }

  watch(key: string, stay: string, ms: number): void {
    const since = this.parts.env.clock.monotonic();
    const awaited: Awaited = { key, stay, since, ms };
    if (ms > soonMs) this.#new.push(awaited);
    else this.#stays(awaited);
    const dueMs = msBetween(this.#startedAt, since) + Math.min(ms, soonMs);
    if (dueMs >= this.#nextMs) return;
    this.#nextMs = dueMs;
    this.#alarm.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { env } = this.parts;
    while (!signal.aborted) {
      if (this.#lookAtDue()) {
        await env.yield();
        continue;
      }
      const nowMs = msBetween(this.#startedAt, env.clock.monotonic());
      await this.#alarm.sleep(Math.min(Math.max(0, this.#nextMs - nowMs), sleepMsMax), signal);
    }
  }

  /** Whether more are due than are looked at in one go. */
  #lookAtDue(): boolean {
    const now = this.parts.env.clock.monotonic();
    let left = perTurn;
    for (; left > 0 && isDue(this.#new.peek(), soonMs, now); left--) {
      const awaited = this.#new.shift() as Awaited;
      if (this.#isStill(awaited)) this.#stays(awaited);
    }
    for (const [ms, list] of this.#staying) {
      for (; left > 0 && isDue(list.peek(), ms, now); left--) {
        const awaited = list.shift() as Awaited;
        if (this.#isStill(awaited)) this.parts.onOver(awaited.key, awaited.stay, awaited.since);
      }
      if (list.size === 0) this.#staying.delete(ms);
    }
    this.#nextMs = this.#dueMs(this.#new, soonMs);
    for (const [ms, list] of this.#staying) this.#nextMs = Math.min(this.#nextMs, this.#dueMs(list, ms));
    return left === 0;
  }

  #isStill({ key, stay }: Awaited): boolean {
    return this.parts.isStill(key, stay);
  }

  #stays(awaited: Awaited): void {
    const list = this.#staying.get(awaited.ms) ?? new Fifo<Awaited>();
    this.#staying.set(awaited.ms, list);
    list.push(awaited);
  }

  #dueMs(list: Fifo<Awaited>, ms: number): number {
    const first = list.peek();
    return first === undefined ? Number.POSITIVE_INFINITY : msBetween(this.#startedAt, first.since) + ms;
  }
}

// Timers cannot be longer.
const sleepMsMax = 3_600_000;

const isDue = (first: Awaited | undefined, ms: number, now: MonotonicInstant): boolean =>
  first !== undefined && msBetween(first.since, now) >= ms;
