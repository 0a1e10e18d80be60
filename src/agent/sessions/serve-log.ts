import type { Duplex } from 'node:stream';
import { frameOf, framesOf } from '../../model/session-frames.js';
import type { SessionEnd } from '../../model/sessions.js';
import { hasDrained } from '../../model/session-stream.js';
import type { KeptLogs } from '../logs/kept-logs.js';
import type { LogQuery } from '../logs/log-reader.js';

/** Sends a log, no faster than it is read, until it ends or nobody reads it any more. */
export async function serveLog(
  socket: Duplex,
  logs: Pick<KeptLogs, 'read'>,
  query: Omit<LogQuery, 'signal'>,
): Promise<SessionEnd> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  // Nothing is said to us; reading shows when the other end has gone.
  socket.resume();
  // Who follows waits for output; who does not is told first if there is none.
  let hasBegun = query.options.isFollowed === true;
  if (hasBegun) socket.write(frameOf('begun'));
  for await (const line of logs.read({ ...query, signal: gone.signal })) {
    if (!hasBegun) socket.write(frameOf('begun'));
    hasBegun = true;
    let hasRoom = true;
    for (const frame of framesOf('stdout', Buffer.from(`${line}\n`))) hasRoom = socket.write(frame);
    if (socket.destroyed) break;
    if (!hasRoom) await hasDrained(socket);
  }
  if (!hasBegun) socket.write(frameOf('begun'));
  return { exitCode: 0 };
}
