import type { Duplex } from 'node:stream';
import { type Frame, frameOf, FrameReader, framesOf } from '../../model/session-frames.js';
import type { SessionEnd, TerminalSize } from '../../model/sessions.js';
import type { ExecRequest, ExecSession, Runner } from '../runner.js';

/** Runs a command beside a replica for whoever is at the other end. When that goes, the command is ended. */
export function serveExec(
  socket: Duplex,
  runner: Pick<Runner, 'exec'>,
  uid: string,
  request: ExecRequest,
): Promise<SessionEnd> {
  return new Promise((resolve) => {
    let isOver = false;
    const session = runner.exec(uid, request, {
      onOutput: (stream, bytes) => {
        let hasRoom = true;
        for (const frame of framesOf(stream, bytes)) hasRoom = socket.write(frame);
        if (!hasRoom) session.pause();
      },
      onExit: (exitCode, message) => {
        isOver = true;
        socket.off('close', leave);
        resolve({
          ...(exitCode === undefined ? { code: 'InternalError' } : { exitCode }),
          ...(message !== undefined && { message }),
        });
      },
    });
    const leave = (): void => session.kill();
    socket.write(frameOf('begun'));
    socket.on('drain', () => session.resume());
    socket.on('close', leave);
    const reader = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      try {
        if (!isOver) for (const frame of reader.take(chunk)) hear(socket, session, frame);
      } catch {
        // Not our protocol: whoever it is, the command is not theirs.
        socket.destroy();
      }
    });
  });
}

function hear(socket: Duplex, session: ExecSession, { kind, bytes }: Frame): void {
  switch (kind) {
    case 'stdin':
      // The next is read when this is on its way: what is typed or copied never piles up here.
      socket.pause();
      return session.write(bytes, () => void socket.resume());
    case 'stdinEnd':
      return session.end();
    case 'resize': {
      const { columns, rows } = sizeOf(bytes);
      return session.resize(columns, rows);
    }
    default:
      throw new Error(`${kind} is not for a node to hear`);
  }
}

function sizeOf(bytes: Uint8Array): TerminalSize {
  const { columns, rows } = JSON.parse(Buffer.from(bytes).toString()) as Partial<TerminalSize>;
  const isSize = (value: unknown): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 10_000;
  if (!isSize(columns) || !isSize(rows)) throw new Error('this is no size of a terminal');
  return { columns, rows };
}
