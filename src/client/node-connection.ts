import type { Duplex } from 'node:stream';
import { backoffAfter } from '../env/backoff.js';
import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import type { NodeEars, NodeHello, NodeLine, NodeStreams } from '../model/node-stream.js';
import { type DownLine, nodeProtocol, nodeStreamPath, type UpLine } from '../model/node-wire.js';
import type { Outcome, Register, Registered } from '../model/ports.js';
import { readLines } from '../model/read-lines.js';
import { attachPath, type SessionDial, sessionProtocol } from '../model/sessions.js';
import { tooSlow } from './connection-error.js';
import type { ServerAccess } from './kubeconfig.js';
import type { ServerList, Tried } from './server-list.js';
import { tryUpgrade, upgrade } from './upgrade.js';

export interface NodeConnectionParts {
  readonly servers: ServerList;
  /** As whom to connect to a server; asked for every attempt, because certificates are renewed. */
  readonly accessTo: (url: string) => ServerAccess;
  readonly env: Env;
  /** Told the server of each new connection. */
  readonly onConnected?: (server: string) => void;
  /** Told why there is no connection to a server, or why a node was refused. */
  readonly onProblem: (message: string, server: string) => void;
}

const backoff = { firstMs: 200, mostMs: 10_000 };
const connectMs = 10_000;
// Nodes are answered within seconds: a connection on which nothing comes for this long is dead.
const silentMsMax = 30_000;
// With another server to go to, one renewal that is not answered is enough: the lease of a node lasts 15 seconds at least.
const answerMsMax = 5_000;
const renewSecondsUsual = 5;
const unsentBytesMax = 8 * 1024 * 1024;

/**
 * The node streams of one process over one connection, to one server of the cell at a time. When the connection is cut,
 * every line ends and the next server is tried. A line that is opened before there is another connection ends at once:
 * sessions try again after their own pauses.
 */
export class NodeConnection implements NodeStreams, SessionDial {
  readonly #lines = new Map<string, NodeEars>();
  readonly #asked = new Map<number, (outcome: Outcome<Registered>) => void>();
  readonly #stop = new AbortController();
  #socket: Duplex | undefined;
  // Of the last connection that was tried.
  #access: ServerAccess | undefined;
  #ids = 0;
  // How often nodes renew, as the server last said.
  #renewSeconds = renewSecondsUsual;
  #heardAt: MonotonicInstant;
  #running: Promise<void> = Promise.resolve();

  private constructor(private readonly parts: NodeConnectionParts) {
    this.#heardAt = parts.env.clock.monotonic();
  }

  /** Connects. Fails if the server refuses or no server answers; later it is tried again for as long as it takes. */
  static async open(parts: NodeConnectionParts): Promise<NodeConnection> {
    const connection = new NodeConnection(parts);
    const socket = await parts.servers.reach(({ url, connectMsMax }) =>
      connection.#connect(url, Math.min(connectMsMax, connectMs)),
    );
    connection.#running = connection.#run(Promise.resolve(socket));
    return connection;
  }

  /** The same for one that has been let in before: it is tried from the first for as long as it takes. */
  static start(parts: NodeConnectionParts): NodeConnection {
    const connection = new NodeConnection(parts);
    connection.#running = connection.#run(connection.#connectToCurrent());
    return connection;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#socket?.destroy();
    await this.#running;
  }

  register(input: Register): Promise<Outcome<Registered>> {
    this.#beginWaiting();
    const id = (this.#ids += 1);
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      if (this.#write({ node: input.node, kind: 'register', id, register: input })) return;
      this.#asked.delete(id);
      resolve(notConnected);
    });
  }

  open(hello: NodeHello, ears: NodeEars): NodeLine {
    const { node } = hello;
    this.#beginWaiting();
    if (this.#write({ ...hello, kind: 'open' })) this.#lines.set(node, ears);
    else queueMicrotask(() => ears.hear({ kind: 'closed', message: notConnected.message }));
    return {
      say: (message) => {
        if (this.#lines.get(node) === ears) this.#write({ node, ...message });
      },
      // What arrives is taken at once: the server holds back by itself.
      resume: () => undefined,
      close: () => {
        if (this.#lines.get(node) !== ears) return;
        this.#lines.delete(node);
        this.#write({ node, kind: 'close' });
      },
    };
  }

  /** At the server that the streams are with: it is the one that waits. */
  dial(_: string, id: string): Promise<Duplex> {
    const { env } = this.parts;
    const { signal } = this.#stop;
    const { accessTo, servers } = this.parts;
    return upgrade(env, this.#access ?? accessTo(servers.current), {
      ...{ path: `${attachPath}${id}`, protocol: sessionProtocol, timeoutMs: connectMs, signal },
    });
  }

  #write(line: UpLine): boolean {
    const socket = this.#socket;
    if (socket === undefined || !socket.writable) return false;
    // What is said next is worth more than what waits: the connection is made anew.
    if (socket.writableLength > unsentBytesMax) socket.destroy();
    else socket.write(`${JSON.stringify(line)}\n`);
    return !socket.destroyed;
  }

  async #run(first: Promise<Duplex>): Promise<void> {
    const { env, onConnected, onProblem, servers } = this.parts;
    const { signal } = this.#stop;
    let connecting = first;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const socket = await connecting;
        this.#socket = socket;
        failures = 0;
        this.#heardAt = env.clock.monotonic();
        onConnected?.(this.#server);
        this.#watchSilence(socket);
        for await (const text of readLines(socket)) this.#hear(text);
        throw new Error('the server has ended the connection');
      } catch (error) {
        if (!signal.aborted) onProblem(error instanceof Error ? error.message : String(error), this.#server);
      }
      this.#cut();
      servers.leave(this.#server);
      await env.sleep(backoffAfter(backoff, failures + 1, env.random), signal).catch(() => undefined);
      if (signal.aborted) return;
      connecting = this.#connectToCurrent();
      // Whoever waits for it sees the error.
      connecting.catch(() => undefined);
    }
  }

  #cut(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    const ended = [...this.#lines.values()];
    this.#lines.clear();
    for (const ears of ended) ears.hear({ kind: 'closed', message: 'the connection was cut' });
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const resolve of asked) resolve(notConnected);
  }

  #hear(text: string): void {
    this.#heardAt = this.parts.env.clock.monotonic();
    // A parsed boundary: a server whose certificate is trusted.
    const line = JSON.parse(text) as DownLine;
    if (line.kind === 'error') return this.parts.onProblem(line.message, this.#server);
    if (line.kind === 'registered') {
      this.#asked.get(line.id)?.(line.outcome);
      this.#asked.delete(line.id);
      return;
    }
    if (line.kind === 'renewed') this.#renewSeconds = line.renewSeconds;
    const ears = this.#lines.get(line.node);
    if (line.kind === 'stale' || line.kind === 'closed') this.#lines.delete(line.node);
    ears?.hear(line);
  }

  async #connectToCurrent(): Promise<Duplex> {
    const { servers } = this.parts;
    const tried = await this.#connect(servers.current, connectMs);
    if (tried.kind === 'gone') throw tried.error;
    return tried.value;
  }

  #connect(url: string, connectMsMax: number): Promise<Tried<Duplex>> {
    const { env, accessTo } = this.parts;
    const { signal } = this.#stop;
    const access = (this.#access = accessTo(url));
    return tryUpgrade(env, access, {
      ...{ path: nodeStreamPath, protocol: nodeProtocol, timeoutMs: connectMs, connectMsMax, signal },
    });
  }

  /** The server that was tried last. */
  get #server(): string {
    return this.#access?.url ?? '';
  }

  get #isWaiting(): boolean {
    return this.#lines.size > 0 || this.#asked.size > 0;
  }

  /** Silence counts from when the first answer is waited for: a connection without lines has nothing to say. */
  #beginWaiting(): void {
    if (!this.#isWaiting) this.#heardAt = this.parts.env.clock.monotonic();
  }

  /** Ends a connection on which nodes are not answered, so that another one is made. */
  #watchSilence(socket: Duplex): void {
    const { env, servers } = this.parts;
    const look = (): void => {
      const isWaiting = this.#isWaiting;
      const hasOthers = servers.urls.length > 1;
      const mostMs = hasOthers ? this.#renewSeconds * 1_000 + answerMsMax : silentMsMax;
      const leftMs = mostMs - msBetween(this.#heardAt, env.clock.monotonic());
      if (isWaiting && leftMs <= 0) socket.destroy(tooSlow('answer', mostMs));
      else timer = env.after(isWaiting ? leftMs : mostMs, look);
    };
    let timer = env.after(0, look);
    socket.once('close', () => timer.cancel());
  }
}

const notConnected: Outcome<never> & { readonly kind: 'UnknownOutcome' } = {
  kind: 'UnknownOutcome',
  message: 'there is no connection to the server',
};
