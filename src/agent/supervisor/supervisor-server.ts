import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Env, Timer } from '../../env/env.js';
import { readLines } from '../../model/read-lines.js';
import type { RunnerEvent } from '../runner.js';
import { type AgentSays, protocolVersion, type SupervisorSays, type Welcome } from './protocol.js';
import { obey } from './obey.js';
import { withSocketPath } from './socket-path.js';
import type { Supervisor } from './supervisor.js';

export interface SupervisorServerParts {
  readonly dir: string;
  readonly env: Env;
  readonly facts: Omit<Welcome, 'version' | 'runs'>;
  /** Nothing runs and nobody has been there for a while, or it was told to end. */
  readonly onOver: () => void;
}

// Without jobs and without an agent for so long there is nothing to stay for: the journal keeps what is known.
const aloneMsMax = 30_000;
// What an agent has not read. More than that and it is taken for stuck; it reads everything when it comes back.
const unreadBytesMax = 16 * 1024 * 1024;

/** The supervisor's end of the socket. One agent at a time: a new one takes over from the last. */
export class SupervisorServer {
  readonly #server: Server;
  #agent: Socket | undefined;
  #supervisor: Supervisor | undefined;
  #alone: Timer | undefined;

  constructor(private readonly parts: SupervisorServerParts) {
    this.#server = createServer((socket) => void this.#serve(socket));
  }

  /** Whoever calls this holds the lock of the directory, so that a socket that is there is nobody's. */
  async listen(supervisor: Supervisor): Promise<void> {
    const { dir } = this.parts;
    this.#supervisor = supervisor;
    rmSync(join(dir, 'supervisor.sock'), { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      withSocketPath(dir, (path) => this.#server.listen(path, resolve));
    });
    this.#watchAlone();
  }

  tell(event: RunnerEvent): void {
    this.#say({ kind: 'event', event });
  }

  #say(message: SupervisorSays): void {
    const agent = this.#agent;
    if (agent === undefined) return;
    agent.write(`${JSON.stringify(message)}\n`);
    if (agent.writableLength > unreadBytesMax) agent.destroy();
  }

  async #serve(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      for await (const line of readLines(socket)) {
        // A parsed boundary: only the agent can open this socket, which is its own directory's.
        this.#hear(socket, JSON.parse(line) as AgentSays);
      }
    } catch {
      socket.destroy();
    }
    if (this.#agent !== socket) return;
    this.#agent = undefined;
    this.#watchAlone();
  }

  #hear(socket: Socket, message: AgentSays): void {
    const supervisor = this.#supervisor;
    if (supervisor === undefined) return;
    if (message.kind === 'hello') return this.#welcome(socket, supervisor, message.version);
    // One that was passed over has nothing to say any more.
    if (socket !== this.#agent) return;
    if (message.kind === 'ping') this.#say({ kind: 'pong' });
    else if (message.kind === 'end')
      void supervisor.endAll(message.graceSeconds).then(() => this.parts.onOver());
    else obey(supervisor, message);
  }

  #welcome(socket: Socket, supervisor: Supervisor, version: number): void {
    const last = this.#agent;
    this.#agent = socket;
    if (last !== socket) last?.destroy();
    this.#alone?.cancel();
    const runs = supervisor.list();
    this.#say({ kind: 'welcome', ...this.parts.facts, version: Math.min(version, protocolVersion), runs });
  }

  #watchAlone(): void {
    this.#alone?.cancel();
    this.#alone = this.parts.env.after(aloneMsMax, () => {
      if (this.#agent !== undefined) return;
      if (this.#supervisor?.liveCount === 0) this.parts.onOver();
      else this.#watchAlone();
    });
  }
}
