import type { Duplex, Readable } from 'node:stream';
import { BerthError } from '../model/errors.js';
import { frameOf, framesOf, jsonFrame } from '../model/session-frames.js';
import type { SessionEnd, TerminalSize } from '../model/sessions.js';
import { endOf, framesFrom, hasDrained } from '../model/session-stream.js';

export interface ExecOptions {
  /** What the command reads; undefined: nothing. */
  readonly input?: Readable;
  /** The next output comes when this is done. */
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => Promise<void> | void;
}

/** The caller's end of a command beside a replica, over a connection that was opened for it. */
export class ExecConnection {
  constructor(private readonly socket: Duplex) {}

  resize(size: TerminalSize): void {
    if (this.socket.writable) this.socket.write(jsonFrame('resize', size));
  }

  /** Until the command has ended. A connection that is cut ends the command, and is an error. */
  async run({ input, onOutput }: ExecOptions): Promise<SessionEnd> {
    const { socket } = this;
    const stop = new AbortController();
    void this.#send(input, stop.signal);
    try {
      for await (const { kind, bytes } of framesFrom(socket)) {
        if (kind === 'stdout' || kind === 'stderr') await onOutput(kind, bytes);
        if (kind === 'end') return endOf(bytes);
      }
    } catch (cause) {
      throw new BerthError('NodeNotConnected', cutOff, { cause });
    } finally {
      stop.abort();
      input?.destroy();
      socket.destroy();
    }
    throw new BerthError('NodeNotConnected', cutOff);
  }

  async #send(input: Readable | undefined, signal: AbortSignal): Promise<void> {
    const { socket } = this;
    try {
      if (input !== undefined)
        for await (const chunk of input) {
          for (const frame of framesOf('stdin', chunk as Buffer))
            if (!socket.write(frame)) await hasDrained(socket);
          if (signal.aborted) return;
        }
      if (socket.writable) socket.write(frameOf('stdinEnd'));
    } catch {
      // Its input broke, or the connection: half of what was to be read must not pass for all of it.
      if (!signal.aborted) socket.destroy();
    }
  }
}

const cutOff = 'the connection to the node was cut, which ends the command there';
