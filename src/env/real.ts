import { randomBytes, randomUUID } from 'node:crypto';
import { uptime } from 'node:os';
import type { Env, Timer } from './env.js';
import { bootInstant, monotonicInstant, wallInstant } from './instant.js';
import { SeededRandom } from './random.js';
import { sleepOn } from './sleep.js';
import { checkTimerDelay } from './timer-delay.js';
import { Turns } from './turns.js';

function after(ms: number, callback: () => void): Timer {
  checkTimerDelay(ms);
  const handle = setTimeout(callback, ms);
  return { cancel: () => clearTimeout(handle) };
}

/** The machine's own clocks, timers and randomness. */
export function realEnv(): Env {
  const turns = new Turns();
  return {
    clock: {
      monotonic: () => monotonicInstant(performance.now()),
      // Node has no binding for CLOCK_BOOTTIME; os.uptime() is that clock, in steps of 10 ms.
      boot: () => bootInstant(uptime() * 1000),
      wall: () => wallInstant(Date.now()),
    },
    random: new SeededRandom(randomBytes(32).toString('hex')),
    after,
    sleep: (ms, signal) => sleepOn(after, ms, signal),
    yield: () => turns.next(),
    uuid: () => randomUUID(),
    secret: (bytes) => randomBytes(bytes),
  };
}
