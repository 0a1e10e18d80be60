import type { Duplex } from 'node:stream';
import type { Env } from '../../env/env.js';

const listenersMax = 20;
// How long a caller has to go after it was sent everything.
const lingerMs = 60_000;

/**
 * Lets a caller and a node speak to each other until either ends, no faster than each reads. A pair on which nothing is
 * said for `idleMs` is cut.
 *
 * Invariant: the caller's connection is not closed here while the caller may still be sending. A close with unread bytes, or
 * before bytes that are on their way, resets the connection, and a reset destroys output that the caller has not read yet.
 */
export function joinStreams(env: Pick<Env, 'after'>, caller: Duplex, node: Duplex, idleMs: number): void {
  let isOver = false;
  const cut = (): void => {
    timer.cancel();
    caller.destroy();
    node.destroy();
  };
  let hasSpoken = false;
  const note = (): void => {
    hasSpoken = true;
  };
  const look = (): void => {
    if (!hasSpoken) return cut();
    hasSpoken = false;
    timer = env.after(idleMs, look);
  };
  let timer = env.after(idleMs, look);
  // The node says no more: the caller is sent the rest, and is heard until it goes.
  const finish = (): void => {
    if (isOver || caller.destroyed) return;
    isOver = true;
    caller.unpipe(node);
    caller.resume();
    node.destroy();
    caller.end(() => {
      timer.cancel();
      if (!caller.destroyed) timer = env.after(lingerMs, cut);
    });
  };
  for (const each of [caller, node]) {
    each.setMaxListeners(listenersMax);
    // The close that follows says the same.
    each.on('error', () => undefined);
    each.on('data', note);
  }
  caller.once('end', cut);
  caller.once('close', cut);
  node.once('end', finish);
  node.once('close', finish);
  node.pipe(caller, { end: false });
  caller.pipe(node, { end: false });
  if (caller.destroyed) cut();
  else if (node.destroyed) finish();
}
