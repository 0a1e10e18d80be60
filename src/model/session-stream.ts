import type { Duplex } from 'node:stream';
import { BerthError, type ErrorCode, errorTable } from './errors.js';
import { type Frame, FrameReader } from './session-frames.js';
import type { SessionEnd } from './sessions.js';

/** The frames that arrive. Leaving the loop ends the connection. */
export async function* framesFrom(socket: Duplex): AsyncGenerator<Frame, void> {
  const reader = new FrameReader();
  for await (const chunk of arrivedOn(socket)) yield* reader.take(chunk);
}

/** Everything that has arrived on a connection, also where it broke before that was read. */
async function* arrivedOn(socket: Duplex): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of socket) yield chunk as Buffer;
  } catch (error) {
    for (let rest = socket.read() as Buffer | null; rest !== null; rest = socket.read() as Buffer | null)
      yield rest;
    throw error;
  }
}

/** How a session ended, as its last frame says. */
export function endOf(bytes: Uint8Array): SessionEnd {
  const value = JSON.parse(Buffer.from(bytes).toString()) as Partial<
    Record<keyof SessionEnd, unknown>
  > | null;
  const { exitCode, code, message } = value ?? {};
  return {
    ...(typeof exitCode === 'number' && { exitCode }),
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message }),
  };
}

/** The error that a session ended with. */
export const errorOfEnd = ({ code, message }: SessionEnd): BerthError =>
  new BerthError(
    code !== undefined && Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'InternalError',
    message ?? 'the node has ended the session without a reason',
  );

/** Resolves when there is room to write again; rejects when there will be none. */
export function hasDrained(socket: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off('drain', onDrain);
      socket.off('close', onClose);
    };
    const onDrain = (): void => {
      settle();
      resolve();
    };
    const onClose = (): void => {
      settle();
      reject(new Error('the connection was closed'));
    };
    if (socket.destroyed) return reject(new Error('the connection was closed'));
    socket.on('drain', onDrain);
    socket.on('close', onClose);
  });
}
