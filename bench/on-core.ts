import { openSync, readSync } from 'node:fs';

/**
 * How long the main thread has been on a core, as the kernel counts it. On a shared machine a thread also waits for a
 * core, which is nobody's code.
 */
export function onCoreClock(): () => number {
  const schedule = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(64);
  return () => Number(text.toString('latin1', 0, readSync(schedule, text, 0, 64, 0)).split(' ')[0]) / 1e6;
}
