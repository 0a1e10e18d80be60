import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Env } from '../../env/env.js';

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** What an engine answered. `message` is its own word for what went wrong. */
export class EngineError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'EngineError';
  }

  /** Podman calls it a defect of its own when what is asked for is removed meanwhile. */
  get isNotThere(): boolean {
    return this.status === 404 || /no such (container|exec session)/i.test(this.message);
  }
}

// Of Docker 20.10; Podman speaks it too.
const version = '/v1.41';
// What is answered at once takes no longer, also on a busy machine.
const answerMs = 120_000;
const answerBytesMax = 16 * 1024 * 1024;

/** Docker's API over the socket of a Docker or Podman on this machine. */
export class EngineClient {
  constructor(private readonly parts: { readonly socketPath: string; readonly env: Env }) {}

  /** The whole answer as JSON; undefined if it has none. */
  async ask(request: EngineRequest): Promise<unknown> {
    const late = new AbortController();
    const timer = this.parts.env.after(answerMs, () => late.abort(new Error('the engine does not answer')));
    const signal =
      request.signal === undefined ? late.signal : AbortSignal.any([request.signal, late.signal]);
    try {
      return parsed(await textOf(await this.stream({ ...request, signal })));
    } finally {
      timer.cancel();
    }
  }

  /** An answer that goes on for as long as it takes. */
  stream(request: EngineRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(this.#options(request), (response) => {
        const status = response.statusCode ?? 0;
        // 304: it is so already.
        if (status < 400) return resolve(response);
        textOf(response).then((text) => reject(new EngineError(status, messageIn(text))), reject);
      });
      outgoing.once('error', reject);
      outgoing.end(request.body === undefined ? undefined : JSON.stringify(request.body));
    });
  }

  /** A connection that becomes the streams of a command. */
  hijack(request: EngineRequest): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const options = this.#options(request);
      const outgoing = httpRequest({
        ...options,
        headers: { ...options.headers, connection: 'Upgrade', upgrade: 'tcp' },
      });
      outgoing.once('upgrade', (_, socket: Duplex, head: Buffer) => {
        socket.on('error', () => undefined);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      outgoing.once('response', (response) => {
        textOf(response).then(
          (text) => reject(new EngineError(response.statusCode ?? 0, messageIn(text))),
          reject,
        );
      });
      outgoing.once('error', reject);
      outgoing.end(JSON.stringify(request.body));
    });
  }

  #options({ method, path, query = {}, body, signal }: EngineRequest) {
    const search = new URLSearchParams(query).toString();
    return {
      socketPath: this.parts.socketPath,
      method,
      path: `${version}${path}${search === '' ? '' : `?${search}`}`,
      agent: false as const,
      headers: { host: 'engine', ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(signal !== undefined && { signal }),
    };
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`the engine's answer is over ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const parsed = (text: string): unknown => (text.trim() === '' ? undefined : (JSON.parse(text) as unknown));

function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? message : text.slice(0, 1_000);
  } catch {
    return text.slice(0, 1_000);
  }
}
