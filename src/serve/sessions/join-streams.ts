import { type Duplex, pipeline } from 'node:stream';
import type { Env } from '../../env/env.js';

const listenersMax = 20;

/**
 * Lets two connections speak to each other until either ends, no faster than each reads. A pair on which nothing is
 * said for `idleMs` is cut.
 */
export function joinStreams(env: Env, a: Duplex, b: Duplex, idleMs: number): void {
  const end = (): void => {
    timer.cancel();
    a.destroy();
    b.destroy();
  };
  let hasSpoken = false;
  const note = (): void => {
    hasSpoken = true;
  };
  const look = (): void => {
    if (!hasSpoken) return end();
    hasSpoken = false;
    timer = env.after(idleMs, look);
  };
  let timer = env.after(idleMs, look);
  // Each pipeline listens for the end of both several times over.
  for (const each of [a, b]) each.setMaxListeners(listenersMax);
  pipeline(a, b, end);
  pipeline(b, a, end);
  a.on('data', note);
  b.on('data', note);
}
