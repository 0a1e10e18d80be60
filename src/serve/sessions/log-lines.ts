import type { Duplex } from 'node:stream';
import { bytesOf, parseRecord } from '../../model/log-record.js';
import { readLines } from '../../model/read-lines.js';
import type { Frame } from '../../model/session-frames.js';
import { endOf, errorOfEnd, framesFrom } from '../../model/session-stream.js';
import type { LogFormat } from './session-options.js';

/**
 * A log as it comes from its node. Rejects with the node's refusal; what goes wrong after it has begun is its last line.
 * No more is read from the node than the reader takes.
 */
export async function logLines(
  socket: Duplex,
  format: LogFormat,
  signal: AbortSignal,
): Promise<AsyncGenerator<string | Buffer, void>> {
  const leave = (): void => void socket.destroy();
  signal.addEventListener('abort', leave, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', leave));
  if (signal.aborted) leave();
  const frames = framesFrom(socket);
  const first = await next(frames);
  if (first === undefined) throw errorOfEnd({ code: 'NodeNotConnected', message: cutOff });
  if (first.kind === 'end') throw errorOfEnd(endOf(first.bytes));
  return shown(recordsOf(frames, signal), format);
}

const cutOff = 'the connection to the node was cut';

/** The next frame; undefined also if the connection broke. */
async function next(frames: AsyncGenerator<Frame, void>): Promise<Frame | undefined> {
  try {
    return (await frames.next()).value ?? undefined;
  } catch {
    return undefined;
  }
}

async function* recordsOf(
  frames: AsyncGenerator<Frame, void>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  let failure: string | undefined = cutOff;
  const output = async function* (): AsyncGenerator<Buffer, void> {
    for (let frame = await next(frames); frame !== undefined; frame = await next(frames)) {
      if (frame.kind === 'stdout') yield frame.bytes;
      if (frame.kind !== 'end') continue;
      const { exitCode, message } = endOf(frame.bytes);
      failure = exitCode === 0 ? undefined : (message ?? 'the log has ended without a reason');
      return;
    }
  };
  try {
    yield* readLines(output());
  } finally {
    await frames.return();
  }
  if (failure !== undefined && !signal.aborted)
    yield JSON.stringify({ time: '', stream: 'berth', message: failure });
}

async function* shown(
  records: AsyncGenerator<string, void>,
  format: LogFormat,
): AsyncGenerator<string | Buffer, void> {
  for await (const line of records) {
    if (format === 'json') {
      yield `${line}\n`;
      continue;
    }
    const record = parseRecord(line);
    if (record === undefined) continue;
    yield record.stream === 'berth' ? `[berth: ${record.message}]\n` : bytesOf(record);
  }
}
