import type { Duplex } from 'node:stream';
import { isBerthError } from '../../model/errors.js';
import { jsonFrame } from '../../model/session-frames.js';
import type { SessionDial, SessionEnd, SessionRequest } from '../../model/sessions.js';
import type { KeptLogs } from '../logs/kept-logs.js';
import type { Runner } from '../runner.js';
import { serveExec } from './serve-exec.js';
import { serveLog } from './serve-log.js';

export interface AgentSessionsParts {
  readonly node: string;
  readonly dial: SessionDial;
  readonly logs: Pick<KeptLogs, 'read'>;
  /** What runs the replica; undefined if nothing does. */
  readonly runnerOf: (uid: string) => Runner | undefined;
  /** Whether nothing of it will run here any more. One that waits to be started again is not over. */
  readonly isOver: (uid: string) => boolean;
  readonly onProblem: (message: string) => void;
}

// The server has a lower bound; this one holds whatever servers ask for.
const openMax = 100;

/** The node's end of sessions: answers what its stream tells it of, each on a connection of its own. */
export class AgentSessions {
  readonly #sockets = new Set<Duplex>();

  constructor(private readonly parts: AgentSessionsParts) {}

  /** Called with what the node's stream says; returns at once. */
  attach(id: string, request: SessionRequest): void {
    void this.#serve(id, request).catch((error: unknown) =>
      this.parts.onProblem(`a session ended: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(id: string, request: SessionRequest): Promise<void> {
    const { dial, node } = this.parts;
    const socket = await dial.dial(node, id);
    socket.on('error', () => socket.destroy());
    if (this.#sockets.size >= openMax)
      return end(socket, { code: 'TooManyRequests', message: `${openMax} sessions are open on the node` });
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    try {
      end(socket, await this.#run(socket, request));
    } catch (error) {
      const code = isBerthError(error) ? error.code : 'InternalError';
      end(socket, { code, message: error instanceof Error ? error.message : String(error) });
    }
  }

  #run(socket: Duplex, request: SessionRequest): Promise<SessionEnd> {
    const { logs, runnerOf } = this.parts;
    const { tenant, name, uid } = request.replica;
    const runner = runnerOf(uid);
    if (request.kind === 'log')
      return serveLog(socket, logs, {
        replica: { tenant, replica: name, uid },
        options: request.options,
        isOver: () => this.parts.isOver(uid),
      });
    if (runner === undefined)
      return Promise.resolve({
        code: 'NotFound',
        message: `replica ${name} does not run on node ${this.parts.node}`,
      });
    const { command, tty } = request;
    return serveExec(socket, runner, uid, { command, ...(tty !== undefined && { tty }) });
  }
}

function end(socket: Duplex, how: SessionEnd): void {
  if (socket.writable) socket.end(jsonFrame('end', how));
}
