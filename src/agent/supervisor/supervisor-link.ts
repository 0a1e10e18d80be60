import { closeSync, mkdirSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Env } from '../../env/env.js';
import { msBetween } from '../../env/instant.js';
import { BerthError } from '../../model/errors.js';
import { readLines } from '../../model/read-lines.js';
import type { RunnerEvent } from '../runner.js';
import { spawnAlone } from '../process/spawn-alone.js';
import { type AgentSays, protocolVersion, type SupervisorSays, type Welcome } from './protocol.js';
import { withSocketPath } from './socket-path.js';
import { SupervisorPulse } from './supervisor-pulse.js';

export interface SupervisorLinkParts {
  /** The agent's directory: one supervisor for each. */
  readonly dir: string;
  /** The file that a supervisor runs, and what it is told besides the directory. */
  readonly program: string;
  readonly words?: readonly string[];
  readonly env: Env;
  readonly onWelcome: (welcome: Welcome) => void;
  readonly onEvent: (event: RunnerEvent) => void;
  readonly onProblem: (message: string) => void;
  /** A supervisor is there and gives no answer, for whatever reason. */
  readonly onSilent: (message: string) => void;
}

const connectAgainMs = 20;
const startAgainMs = 5_000;
const firstMsMax = 60_000;
// How much longer than their grace jobs may take to end, before it is given up to wait for it.
const endSlackMs = 20_000;

/** The agent's end of the socket. Starts a supervisor where there is none, and again if it dies. */
export class SupervisorLink {
  #socket: Socket | undefined;
  #isClosed = false;

  constructor(private readonly parts: SupervisorLinkParts) {}

  /** Resolves when a supervisor has said what there is. */
  async open(): Promise<void> {
    const { env, dir } = this.parts;
    mkdirSync(dir, { recursive: true, mode: 0o711 });
    const begun = env.clock.monotonic();
    let startedAt: typeof begun | undefined;
    while (!this.#isClosed) {
      const socket = await reached(dir);
      if (socket !== undefined) return this.#talk(socket);
      const now = env.clock.monotonic();
      if (startedAt === undefined || msBetween(startedAt, now) > startAgainMs) {
        this.#startSupervisor();
        startedAt = now;
      }
      if (msBetween(begun, now) > firstMsMax)
        throw new BerthError('InternalError', `no supervisor could be started: see ${this.#logPath}`);
      await env.sleep(connectAgainMs);
    }
  }

  say(message: AgentSays): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`);
  }

  /** Leaves the supervisor and its jobs alone. */
  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  /** Has all jobs and the supervisor ended. */
  async end(graceSeconds: number): Promise<void> {
    const socket = this.#socket;
    this.#isClosed = true;
    if (socket === undefined) return;
    const late = this.parts.env.after(graceSeconds * 1_000 + endSlackMs, () => {
      this.parts.onProblem('the supervisor has not ended its jobs in time: they are left to it');
      socket.destroy();
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    this.say({ kind: 'end', graceSeconds });
    await closed;
    late.cancel();
  }

  get #logPath(): string {
    return join(this.parts.dir, 'supervisor.log');
  }

  /** In a session of its own: what ends the agent does not end it. */
  #startSupervisor(): void {
    const { dir, program, words = [] } = this.parts;
    const log = openSync(this.#logPath, 'a', 0o600);
    const child = spawnAlone(process.execPath, [...supervisorFlags, program, dir, ...words], {
      ...{ detached: true, stdio: ['ignore', log, log], cwd: '/' },
    });
    child.once('error', (error) => this.parts.onProblem(`cannot start a supervisor: ${error.message}`));
    child.unref();
    closeSync(log);
  }

  #talk(socket: Socket): Promise<void> {
    this.#socket = socket;
    this.say({ kind: 'hello', version: protocolVersion });
    return new Promise((resolve) => void this.#listen(socket, resolve));
  }

  async #listen(socket: Socket, onWelcome: () => void): Promise<void> {
    const pulse = this.#pulseOf(socket);
    try {
      for await (const line of readLines(socket)) {
        pulse.heard();
        // A parsed boundary: what our own supervisor says.
        const message = JSON.parse(line) as SupervisorSays;
        if (message.kind === 'event') this.parts.onEvent(message.event);
        else if (message.kind === 'welcome') {
          // An older one does not answer: that it is silent is not to be seen.
          if (message.version < 2) pulse.close();
          this.parts.onWelcome(message);
          onWelcome();
        }
      }
    } catch {
      socket.destroy();
    }
    pulse.close();
    if (this.#socket === socket) this.#socket = undefined;
    if (this.#isClosed) return;
    this.parts.onProblem('the supervisor is gone: what is fenced went with it; another takes over the rest');
    await this.#reopen();
    onWelcome();
  }

  #pulseOf(socket: Socket): SupervisorPulse {
    const { env, onSilent, onProblem } = this.parts;
    return new SupervisorPulse({
      env,
      ask: () => {
        // What it has not read is question enough.
        if (socket.writableLength === 0) this.say({ kind: 'ping' });
      },
      onSilent: (silentMs) =>
        onSilent(
          `the supervisor has not answered for ${Math.round(silentMs / 1_000)} s: it is stopped or stuck; what runs goes on, nothing is started or stopped here until it answers`,
        ),
      onHeardAgain: () => onProblem('the supervisor answers again'),
    });
  }

  async #reopen(): Promise<void> {
    while (!this.#isClosed)
      try {
        return await this.open();
      } catch (error) {
        this.parts.onProblem(error instanceof Error ? error.message : String(error));
      }
  }
}

// Small and steady: it does little, and for as long as the machine runs.
const supervisorFlags = ['--max-semi-space-size=1', '--max-old-space-size=256'];

function reached(dir: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = withSocketPath(dir, (path) => connect(path));
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.once('error', () => resolve(undefined));
  });
}
