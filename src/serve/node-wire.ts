import type { Duplex } from 'node:stream';
import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { isBerthError } from '../model/errors.js';
import type { NodeLine, NodeStreams } from '../model/node-stream.js';
import type { DownLine, UpLine } from '../model/node-wire.js';
import type { Register } from '../model/ports.js';
import { readLines } from '../model/read-lines.js';
import type { Validator } from '../model/validate.js';
import { authorize } from './identity/authorize.js';
import { formatIdentity, type Identity } from './identity/identity.js';
import { checkUpLine } from './node-wire-lines.js';

export interface NodeWireParts {
  readonly streams: NodeStreams;
  /** Where a node that has joined by a token may be; undefined of one that was set up otherwise. */
  readonly placeOf: (node: string) => Promise<{ readonly region: string; readonly zone: string } | undefined>;
  readonly validator: Validator;
  readonly env: Env;
  readonly onDefect: (error: unknown) => void;
}

// No report or registration is a tenth as long.
const lineBytesMax = 256 * 1024;
// What may wait for a reader that is slow before bindings wait too; a reader that does not read at all is cut off.
const roomBytes = 1024 * 1024;
const unreadBytesMax = 8 * 1024 * 1024;
const nodesMax = 20_000;
// Registrations under way; past that nothing more is read until some are done.
const registeringMax = 256;
const silentMsMax = 60_000;
const lastWordMs = 10_000;

/** One connection that carries the streams of one node or many. Everything about its lines is here. */
class Connection {
  readonly #lines = new Map<string, NodeLine>();
  #registering = 0;
  #roomFor: (() => void) | undefined;
  #heardAt: MonotonicInstant;

  constructor(
    private readonly parts: NodeWireParts,
    private readonly socket: Duplex,
    private readonly identity: Identity,
    private readonly whyRefusedNow: () => Promise<string | undefined>,
  ) {
    this.#heardAt = parts.env.clock.monotonic();
  }

  async run(): Promise<void> {
    const { socket } = this;
    socket.on('error', () => socket.destroy());
    socket.on('drain', () => {
      for (const line of this.#lines.values()) line.resume();
    });
    this.#watchSilence();
    try {
      // It is not destroyed with the last line that is read: it is told first what was wrong.
      for await (const text of readLines(socket.iterator({ destroyOnReturn: false }), lineBytesMax)) {
        this.#heardAt = this.parts.env.clock.monotonic();
        // It has been told what is wrong, and closes; what it still says is not heard.
        if (socket.writableEnded || !this.#taken(text)) continue;
        while (this.#registering >= registeringMax)
          await new Promise<void>((resolve) => {
            this.#roomFor = resolve;
          });
      }
    } catch (error) {
      // A line that is too long, or a connection that was reset.
      if (isBerthError(error)) this.#endWith(error.message);
      else if (!socket.destroyed) this.parts.onDefect(error);
    } finally {
      for (const line of this.#lines.values()) line.close();
      this.#lines.clear();
      socket.end();
    }
  }

  /** Whether a line made sense. */
  #taken(text: string): boolean {
    try {
      this.#take(checkUpLine(text, this.parts.validator));
      return true;
    } catch (error) {
      if (!isBerthError(error)) this.parts.onDefect(error);
      this.#endWith(isBerthError(error) ? error.message : 'a defect of the server');
      return false;
    }
  }

  #take(message: UpLine): void {
    const { node } = message;
    if (message.kind === 'close') return this.#close(node);
    if (message.kind === 'renew' || message.kind === 'report') {
      // One that was ended meanwhile has been told.
      this.#lines.get(node)?.say(message);
      return;
    }
    const access = authorize(this.identity, { verb: 'update', actsForNode: node });
    const refusal = access.allowed ? undefined : `${formatIdentity(this.identity)}: ${access.reason}`;
    if (message.kind === 'register') return void this.#register(message, refusal);
    const isTooMany = !this.#lines.has(node) && this.#lines.size >= nodesMax;
    const why = refusal ?? (isTooMany ? `a connection carries ${nodesMax} nodes at most` : undefined);
    if (why !== undefined) return this.#write({ node, kind: 'closed', message: why });
    this.#close(node);
    const { epoch, id } = message;
    const line = this.parts.streams.open(
      { node, epoch, id },
      {
        hear: (heard) => {
          if (this.#lines.get(node) !== line) return;
          if (heard.kind === 'stale' || heard.kind === 'closed') this.#lines.delete(node);
          this.#write({ node, ...heard });
        },
        hasRoom: () => this.socket.writableLength < roomBytes,
      },
    );
    this.#lines.set(node, line);
  }

  async #register(
    { node, id, register }: UpLine & { readonly kind: 'register' },
    refusal: string | undefined,
  ): Promise<void> {
    this.#registering += 1;
    // A connection may outlive what let it in: another machine may have joined as this node since.
    const why = refusal ?? (await this.whyRefusedNow()) ?? (await this.#whyNotThere(node, register));
    const outcome =
      why === undefined
        ? await this.parts.streams.register({ ...register, node })
        : ({ kind: 'Rejected', reason: 'NotOwner', message: why, revision: '0' } as const);
    this.#registering -= 1;
    this.#roomFor?.();
    this.#write({ node, kind: 'registered', id, outcome });
  }

  /** A machine that joined is where its token said, and has no labels that are for operators alone. */
  async #whyNotThere(node: string, { region = 'local', zone = 'local', labels = {} }: Register) {
    if (this.identity.kind !== 'node') return undefined;
    let place: Awaited<ReturnType<NodeWireParts['placeOf']>>;
    try {
      place = await this.parts.placeOf(node);
    } catch (error) {
      return `its place cannot be looked up: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (place === undefined) return undefined;
    if (place.region !== region || place.zone !== zone)
      return `node ${node} has joined in ${place.region}/${place.zone}, not in ${region}/${zone}`;
    const reserved = Object.keys(labels).find((label) => /^([^/]*\.)?berth\.dev\//.test(label));
    return reserved === undefined ? undefined : `the label ${reserved} is the operator's to give`;
  }

  #close(node: string): void {
    this.#lines.get(node)?.close();
    this.#lines.delete(node);
  }

  #write(line: DownLine): void {
    const { socket } = this;
    if (!socket.writable) return;
    socket.write(`${JSON.stringify(line)}\n`);
    if (socket.writableLength > unreadBytesMax)
      this.#endWith(`over ${unreadBytesMax} bytes that were sent have not been read`);
  }

  /** Says why it ends. Whoever does not read that either is cut off. */
  #endWith(message: string): void {
    const { socket } = this;
    if (!socket.writable) return;
    const line: DownLine = { kind: 'error', message };
    socket.end(`${JSON.stringify(line)}\n`);
    socket.resume();
    const timer = this.parts.env.after(lastWordMs, () => socket.destroy());
    socket.once('close', () => timer.cancel());
  }

  /** Whoever plays nodes renews their leases every few seconds: one that is silent is gone. */
  #watchSilence(): void {
    const { env } = this.parts;
    const look = (): void => {
      if (msBetween(this.#heardAt, env.clock.monotonic()) > silentMsMax)
        this.#endWith(`nothing was heard for ${silentMsMax / 1_000} s`);
      else timer = env.after(silentMsMax / 2, look);
    };
    let timer = env.after(silentMsMax / 2, look);
    this.socket.once('close', () => timer.cancel());
  }
}

/** The server's end of connections that carry node streams. */
export class NodeWire {
  readonly #sockets = new Set<Duplex>();

  constructor(private readonly parts: NodeWireParts) {}

  get connections(): number {
    return this.#sockets.size;
  }

  /** Takes over a connection that has been upgraded. */
  async serve(
    socket: Duplex,
    identity: Identity,
    whyRefusedNow: () => Promise<string | undefined>,
  ): Promise<void> {
    this.#sockets.add(socket);
    await new Connection(this.parts, socket, identity, whyRefusedNow).run();
    this.#sockets.delete(socket);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
