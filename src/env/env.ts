import type { BootInstant, MonotonicInstant, WallInstant } from './instant.js';
import type { Random } from './random.js';

export interface Clock {
  monotonic(): MonotonicInstant;
  boot(): BootInstant;
  wall(): WallInstant;
}

/** What a pending timer can still do: nothing but be called off. Calling off one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * The only door to time, timers, randomness and ids. Everything that varies between two runs comes through
 * here, so that the simulator can make one seed give one history.
 */
export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Calls `callback` once, `ms` from now on the monotonic clock. Never synchronously, not even for 0. After a delay that is not 0
   * the clock shows another time, however short the delay is: whoever waits for an instant may set a timer for what is left.
   */
  after(ms: number, callback: () => void): Timer;
  /** Resolves `ms` from now. Rejects with the signal's reason, at once, when the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets everything else that is ready run first: what long work calls so as not to starve others. */
  yield(): Promise<void>;
  /** A new universally unique id (RFC 9562, version 4). */
  uuid(): string;
  /** Bytes nobody can guess, for keys and tokens. In a virtual world they follow from the seed: safe there, and only there. */
  secret(bytes: number): Buffer;
}
