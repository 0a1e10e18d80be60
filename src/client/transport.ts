import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Env, Timer } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { BerthError, type ErrorCode, isBerthError } from '../model/errors.js';
import { readLines } from '../model/read-lines.js';
import { type ConnectionError, connectionError, tooSlow } from './connection-error.js';
import { Connections } from './connections.js';
import type { ServerAccess } from './kubeconfig.js';
import { type ServerInTurn, ServerList, type Tried } from './server-list.js';
import { errorOfAnswer, isStatus } from './status-error.js';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly contentType?: string;
  /** The form of answer that is wanted, if not plain JSON. */
  readonly accept?: string | undefined;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

// An answer larger than this is not read to its end: a list this long is asked for in pages.
const answerBytesMax = 64 * 1024 * 1024;
// Requests past this many wait for a connection. Watches have connections of their own.
const connectionsMax = 32;
// Requests past this many are refused before they are sent.
const underWayMax = 10_000;
// An idle connection is closed before the server closes it (Berth: after 72 s), because a request that crosses the server's
// close has an unknown outcome.
const idleMsMax = 45_000;
// How soon the machine asks whether the other end of a silent watch is still there.
const probeAfterMs = 15_000;

/** A request on its way. */
interface Flight {
  readonly url: string;
  readonly request: ClientRequest;
  readonly connections: Connections;
  /** Rejects when the request is given up, also while it waits for a connection: Node tells of that only later. */
  readonly givenUp: Promise<never>;
  giveUp(reason: Error): void;
}

/**
 * HTTPS to the servers of one cell. A request ends as its JSON or a BerthError. It goes to the next server only if this
 * one is gone: a read always, a write only where no byte of it can have been sent. So a write whose answer is lost is
 * UnknownOutcome and nothing else.
 */
export class Transport {
  readonly servers: ServerList;
  readonly #access: ServerAccess;
  readonly #env: Env;
  readonly #onWarning: (text: string) => void;
  readonly #requests: Connections;
  readonly #watches: Connections;
  #underWay = 0;

  constructor(parts: {
    readonly access: ServerAccess;
    readonly env: Env;
    readonly onWarning?: ((text: string) => void) | undefined;
  }) {
    const { ca, cert, key } = parts.access;
    const tls = {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
    this.servers = ServerList.of(parts.access);
    this.#access = parts.access;
    this.#env = parts.env;
    this.#onWarning = parts.onWarning ?? (() => undefined);
    this.#requests = new Connections({
      ...{ ...tls, keepAlive: true, maxSockets: connectionsMax, timeout: idleMsMax },
    });
    this.#watches = new Connections({ ...tls, keepAlive: false });
  }

  close(): void {
    this.#requests.destroy();
    this.#watches.destroy();
  }

  /** Sends a request and reads its whole answer. */
  async send(request: TransportRequest): Promise<unknown> {
    if (this.#underWay >= underWayMax) {
      throw new BerthError(
        'TooManyRequests',
        `${underWayMax} requests to ${this.servers.current} are under way; this one was not sent`,
      );
    }
    this.#underWay += 1;
    try {
      return await this.servers.reach((server) => this.#sendTo(server, request), this.#mayGoOn(request));
    } finally {
      this.#underWay -= 1;
    }
  }

  async #sendTo(server: ServerInTurn, request: TransportRequest): Promise<Tried<unknown>> {
    const flight = this.#start(this.#requests, server.url, request);
    const deadline = this.#deadline(server, request, flight);
    try {
      const answer = this.#answerTo(flight.request);
      return { kind: 'answered', value: await Promise.race([answer, flight.givenUp]) };
    } catch (error) {
      flight.request.destroy();
      return this.#explained(request, flight, error);
    } finally {
      deadline.stop();
    }
  }

  /** No server is begun with when the time of the request is up. */
  #mayGoOn({ timeoutMs, signal }: TransportRequest): () => boolean {
    const begunAt: MonotonicInstant = this.#env.clock.monotonic();
    return () => signal?.aborted !== true && msBetween(begunAt, this.#env.clock.monotonic()) < timeoutMs;
  }

  async #answerTo(request: ClientRequest): Promise<unknown> {
    const response = await answerOf(request);
    const text = await readAll(response);
    for (const warning of warningsIn(response)) this.#onWarning(warning);
    const httpStatus = response.statusCode ?? 0;
    if (httpStatus >= 200 && httpStatus < 300) return parseJson(text);
    const answer = tryJson(text);
    const error = errorOfAnswer(httpStatus, answer);
    // A server of Berth says in a Status that it did nothing. A proxy's 503 may mean that it has passed the request on.
    if (httpStatus >= 500 && !isStatus(answer)) throw unreadable(error.code, error.message);
    throw error;
  }

  /** The lines of an answer that goes on, as they come. Ends when the server ends it; throws when it is cut. */
  async *lines(
    request: TransportRequest & {
      /** How long the answer may take to begin; timeoutMs is how long it may go on. */
      readonly beginMs: number;
    },
  ): AsyncGenerator<string, void> {
    const beginning = { ...request, timeoutMs: request.beginMs };
    const { flight, response } = await this.servers.reach(
      (server) => this.#begin(server, beginning),
      this.#mayGoOn(beginning),
    );
    const deadline = this.#deadline({ connectMsMax: Infinity }, request, flight);
    try {
      const status = response.statusCode ?? 0;
      if (status !== 200) throw errorOfAnswer(status, await readAnswer(response));
      yield* readLines(response);
    } catch (cause) {
      const { error } = this.#explained(request, flight, cause);
      this.servers.leave(flight.url);
      throw error;
    } finally {
      deadline.stop();
      flight.request.destroy();
    }
  }

  async #begin(
    server: ServerInTurn,
    request: TransportRequest,
  ): Promise<Tried<{ readonly flight: Flight; readonly response: IncomingMessage }>> {
    const flight = this.#start(this.#watches, server.url, request);
    flight.request.on('socket', (socket) => socket.setKeepAlive(true, probeAfterMs));
    const deadline = this.#deadline(server, request, flight);
    try {
      const response = await answerOf(flight.request);
      return { kind: 'answered', value: { flight, response } };
    } catch (error) {
      flight.request.destroy();
      return this.#explained(request, flight, error);
    } finally {
      deadline.stop();
    }
  }

  #start(
    connections: Connections,
    url: string,
    { method, path, query, contentType, accept, body }: TransportRequest,
  ): Flight {
    const search = query === undefined || query.size === 0 ? '' : `?${query.toString()}`;
    const { token } = this.#access;
    // A server may stand behind a path of its own.
    const prefix = new URL(url).pathname.replace(/\/$/, '');
    const request = httpsRequest(url, {
      agent: connections,
      method,
      path: `${prefix}${path}${search}`,
      headers: {
        accept: accept ?? 'application/json',
        'user-agent': 'berth',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined
          ? {}
          : {
              'content-type': contentType ?? 'application/json',
              // Node frames the body of a DELETE only if its length is given.
              'content-length': String(Buffer.byteLength(body)),
            }),
      },
    });
    // Whoever waits for the answer sees the error; this keeps one that comes later from ending the process.
    request.on('error', () => undefined);
    request.end(body);
    let giveUp: (reason: Error) => void = () => undefined;
    const givenUp = new Promise<never>((_, reject) => {
      giveUp = (reason) => {
        reject(reason);
        request.destroy(reason);
      };
    });
    givenUp.catch(() => undefined);
    return { url, request, connections, givenUp, giveUp };
  }

  /** Gives the request up when its time is up, its caller has gone, or another server may connect sooner. */
  #deadline(
    { connectMsMax }: Pick<ServerInTurn, 'connectMsMax'>,
    { timeoutMs, signal }: TransportRequest,
    flight: Flight,
  ): { stop(): void } {
    const giveUpAfter = (ms: number, what: string): Timer =>
      this.#env.after(ms, () => flight.giveUp(tooSlow(what, ms)));
    const timers = [giveUpAfter(timeoutMs, 'answer')];
    // Time that a request waits for one of few connections says nothing about the server.
    flight.request.once('socket', (socket) => {
      if (timeoutMs <= connectMsMax || flight.connections.mayHaveSent(flight.request)) return;
      const timer = giveUpAfter(connectMsMax, 'connection');
      timers.push(timer);
      socket.once('secureConnect', () => timer.cancel());
    });
    const onAbort = (): void => flight.giveUp(new Error('the caller has given up'));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    return {
      stop: () => {
        for (const timer of timers) timer.cancel();
        signal?.removeEventListener('abort', onAbort);
      },
    };
  }

  /** Explains an error to the caller: returns that the server is gone, or throws whether the server may have acted on the request. */
  #explained(
    { method, path, signal }: TransportRequest,
    flight: Flight,
    cause: unknown,
  ): { readonly kind: 'gone'; readonly error: ConnectionError } {
    const { url, connections, request } = flight;
    const what = `${method} ${url}${path}`;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const isUncertain = method !== 'GET' && connections.mayHaveSent(request);
    if (isBerthError(cause)) {
      // The next request may succeed at a server that reaches the store.
      if (isBerthError(cause, 'StoreUnavailable')) this.servers.leave(url);
      // The server may have acted and only its answer cannot be used.
      if (!isUncertain || cause.details['unreadable'] !== true) throw cause;
      throw new BerthError('UnknownOutcome', `${what}: ${reason}`, { cause });
    }
    if (isUncertain) {
      if (signal?.aborted !== true) this.servers.leave(url);
      throw new BerthError('UnknownOutcome', `${what} was sent and its answer was lost: ${reason}`, {
        cause,
      });
    }
    if (signal?.aborted) throw signal.reason;
    return { kind: 'gone', error: connectionError(url, what, cause) };
  }
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
    request.once('close', () => reject(new Error('the connection was closed')));
  });
}

/** The error for an answer that cannot be used. A write that ends with it becomes UnknownOutcome. */
const unreadable = (code: ErrorCode, message: string): BerthError =>
  new BerthError(code, message, { details: { unreadable: true } });

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) {
      throw unreadable('RequestTooLarge', `the answer is over ${answerBytesMax} bytes; ask for less`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The whole answer: JSON if it is that, else its text. */
export const readAnswer = async (response: IncomingMessage): Promise<unknown> =>
  tryJson(await readAll(response));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw unreadable('InternalError', 'the answer is not JSON');
  }
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The texts of `Warning: 299 - "text"` headers. */
function warningsIn(response: IncomingMessage): string[] {
  const header = response.headers['warning'] ?? '';
  const texts = header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...texts].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
}
