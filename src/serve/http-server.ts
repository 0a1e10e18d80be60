import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import { shownAge } from '../model/age.js';
import { BerthError } from '../model/errors.js';
import type { Api, Routed } from './api.js';
import type { ApiRequest, ApiResponse } from './api-request.js';
import type { AuditLog } from './identity/audit-log.js';
import { authenticate, clientCertificateOf } from './identity/authenticate.js';
import { type CertificateStore, secureContextOf } from './identity/certificate-store.js';
import { formatIdentity, type Identity } from './identity/identity.js';
import type { Tokens } from './identity/tokens.js';
import type { Metrics, RequestLabels } from './metrics.js';
import type { Readiness } from './readiness.js';
import { type Status, statusOf } from './status.js';
import type { Upgrades } from './upgrades.js';

export interface HttpServerParts {
  readonly api: Api;
  readonly env: Env;
  readonly certificates: CertificateStore;
  readonly tokens: Tokens;
  /** The uid of the tenant that now has this name; undefined if there is none. */
  readonly tenantUid: (tenant: string) => Promise<string | undefined>;
  /** Of the key that this node has joined with last; undefined if it was set up otherwise. */
  readonly nodeKeyHash: (node: string) => Promise<string | undefined>;
  readonly audit: AuditLog;
  readonly metrics: Metrics;
  readonly upgrades: Upgrades;
  readonly readiness: Pick<Readiness, 'notReady'>;
  /** Called with what is a defect of ours, never a client's mistake. */
  readonly onDefect: (error: unknown) => void;
}

const bodyBytesMax = 1_500_000;
const inFlightMax = 400;
const watchesMax = 10_000;
// What may wait for a watcher that does not read; past that it is cut off and can resume.
const unsentBytesMax = 4 * 1024 * 1024;
const unsentWaitMs = 30_000;
const probeAfterMs = 30_000;

const clientGone = new Error('the client has gone');

const mayWait = /watch=|resourceVersion=|\/log(\?|$)/;

const readVerbs: readonly string[] = ['get', 'list', 'watch'];

/** The API over HTTPS. Everything about HTTP is here, and nothing else. */
export class HttpServer {
  readonly #stop = new AbortController();
  readonly #certificates = new WeakMap<
    TLSSocket,
    { readonly certificate: ReturnType<typeof clientCertificateOf> }
  >();
  readonly #app: FastifyInstance;
  #inFlight = 0;
  readonly #watches = new Set<FastifyReply['raw']>();
  // They are nobody's requests any more: whoever closes waits for them unless they are ended.
  readonly #upgraded = new Set<Duplex>();
  #isStopping = false;

  private constructor(private readonly parts: HttpServerParts) {
    const app = fastify({
      https: {
        ...secureContextOf(parts.certificates),
        // A client without a certificate may have a token; who has neither is anonymous.
        requestCert: true,
        rejectUnauthorized: false,
        // Slow senders and floods of headers end here.
        requestTimeout: 60_000,
        headersTimeout: 20_000,
        maxHeaderSize: 32 * 1024,
      },
      bodyLimit: bodyBytesMax,
      exposeHeadRoutes: false,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: 2_000 },
      // Our own validation stands behind this; without these fastify loads a validator and a serializer of its own.
      schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
      frameworkErrors: (error, _, reply) => void this.#sendError(reply as FastifyReply, error),
    }) as unknown as FastifyInstance;
    this.#app = app;
    app.removeAllContentTypeParsers();
    // All are taken as they are; the one that nearly all clients send is found without a search.
    for (const type of ['application/json', '*'])
      app.addContentTypeParser(type, { parseAs: 'buffer' }, (_, body, done) => done(null, body));
    app.setErrorHandler((error, _, reply) => void this.#sendError(reply, error));
    app.get('/livez', () => 'ok');
    app.get('/readyz', (_, reply) => {
      const problem = this.#whyNotReady();
      return problem === undefined ? reply.send('ok') : reply.code(503).send(problem);
    });
    app.get('/healthz', () => 'ok');
    app.all('/*', (request, reply) => this.#handle(request, reply));
    app.all('/', (request, reply) => this.#handle(request, reply));
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      void this.#upgrade(request, socket, head);
    });
    parts.metrics.watchTraffic(() => ({
      requestsInFlight: this.#inFlight,
      watchesOpen: this.#watches.size,
      unsentBytesMax: Math.max(0, ...[...this.#watches].map((raw) => raw.writableLength)),
    }));
    parts.certificates.onRenewed(() => {
      (app.server as unknown as { setSecureContext(options: object): void }).setSecureContext(
        secureContextOf(parts.certificates),
      );
    });
  }

  static async start(parts: HttpServerParts, host: string, port: number): Promise<HttpServer> {
    const server = new HttpServer(parts);
    await server.#app.listen({ host, port });
    return server;
  }

  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Unready first, then watches end and requests under way finish. */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#stop.abort();
    this.parts.upgrades.close();
    for (const socket of this.#upgraded) socket.destroy();
    await this.#app.close();
  }

  /** Without the addresses of the store: unknown clients may ask. */
  #whyNotReady(): string | undefined {
    if (this.#isStopping) return 'stopping';
    const problem = this.parts.readiness.notReady();
    return problem && `not ready: not up to date with the store for ${shownAge(problem.forMs)}`;
  }

  /** What goes on in both directions has a connection of its own. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const [path = '', search = ''] = request.url?.split('?', 2) ?? [];
      const protocol = request.headers.upgrade;
      const identity = await this.#identityOf(request.socket as TLSSocket, request.headers);
      await this.parts.upgrades.take({
        ...{ path, protocol, identity },
        query: new URLSearchParams(search),
        sourceIP: request.socket.remoteAddress ?? '',
        whyRefusedNow: () =>
          this.#identityOf(request.socket as TLSSocket, request.headers).then(
            () => undefined,
            (error: unknown) => (error instanceof Error ? error.message : String(error)),
          ),
        accept: () => {
          socket.write(
            `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
          );
          // So that the end of a silent client is noticed.
          request.socket.setKeepAlive(true, probeAfterMs);
          if (head.length > 0) socket.unshift(head);
          return socket;
        },
      });
    } catch (error) {
      const status = statusOf(error);
      if (status.code >= 500 && !(error instanceof BerthError)) this.parts.onDefect(error);
      const body = JSON.stringify(status);
      socket.end(
        `HTTP/1.1 ${status.code} Refused\r\nConnection: close\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    }
  }

  async #handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (this.#inFlight >= inFlightMax) {
      reply.header('Retry-After', '1');
      this.parts.metrics.request(labelsOf(request, undefined), 429, 0);
      return this.#sendError(
        reply,
        new BerthError('TooManyRequests', `${inFlightMax} requests are under way; try again in a second`, {
          details: { retryAfterSeconds: 1 },
        }),
      );
    }
    this.#inFlight += 1;
    const startedAt = this.parts.env.clock.monotonic();
    let code = 200;
    let routed: Routed | undefined;
    let identity: Identity | undefined;
    try {
      identity = await this.#identityOf(request.raw.socket as TLSSocket, request.headers);
      const apiRequest = toApiRequest(request, identity, this.#signalFor(request, reply));
      routed = this.parts.api.route(apiRequest);
      const response = await this.parts.api.handle(apiRequest, routed);
      if (response.kind === 'value') code = response.status;
      this.#audit(request, routed, identity, response);
      return await this.#send(reply, response, apiRequest.signal);
    } catch (error) {
      const status = statusOf(error);
      ({ code } = status);
      if (status.code >= 500 && !(error instanceof BerthError)) this.parts.onDefect(error);
      if (identity !== undefined) this.#audit(request, routed, identity, status);
      return await this.#sendError(reply, error);
    } finally {
      this.#inFlight -= 1;
      const durationMs = msBetween(startedAt, this.parts.env.clock.monotonic());
      this.parts.metrics.request(labelsOf(request, routed), code, durationMs);
    }
  }

  /** Only what may wait needs to know that its client has gone; a signal costs more than a short answer does. */
  #signalFor(request: FastifyRequest, reply: FastifyReply): AbortSignal {
    if (!mayWait.test(request.url)) return this.#stop.signal;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort(clientGone));
    return AbortSignal.any([gone.signal, this.#stop.signal]);
  }

  async #identityOf(socket: TLSSocket, headers: IncomingHttpHeaders): Promise<Identity> {
    // A connection keeps its certificate, and reading it is slow. Whether it has expired is asked each time.
    let known = this.#certificates.get(socket);
    if (known === undefined) {
      known = { certificate: clientCertificateOf(socket) };
      this.#certificates.set(socket, known);
    }
    const authentication = await authenticate(this.parts, { headers, certificate: known.certificate });
    if (authentication.kind === 'identity') return authentication.identity;
    throw new BerthError(
      authentication.httpStatus === 401 ? 'Unauthorized' : 'Forbidden',
      authentication.reason,
    );
  }

  #send(
    reply: FastifyReply,
    response: ApiResponse,
    signal: AbortSignal,
  ): Promise<FastifyReply> | FastifyReply {
    switch (response.kind) {
      case 'value': {
        for (const warning of response.warnings) {
          reply.raw.appendHeader('Warning', `299 - ${JSON.stringify(warning.replace(/[^\x20-\x7e]/g, '?'))}`);
        }
        reply.code(response.status);
        if (response.encoding === 'yaml') return sendYaml(reply, response);
        return reply
          .header('Content-Type', response.contentType ?? 'application/json')
          .send(response.json ?? JSON.stringify(response.value));
      }
      case 'bytes':
        return reply.header('Content-Type', response.contentType).send(response.bytes);
      case 'lines':
        return this.#stream(reply, response, signal);
    }
  }

  /** Writes a watch as it comes. A client that does not read is cut off before it costs memory. */
  async #stream(
    reply: FastifyReply,
    { lines, contentType = 'application/json' }: ApiResponse & { readonly kind: 'lines' },
    signal: AbortSignal,
  ): Promise<FastifyReply> {
    if (this.#watches.size >= watchesMax) {
      throw new BerthError('TooManyRequests', `${watchesMax} watches are open; try again later`, {
        details: { retryAfterSeconds: 5 },
      });
    }
    reply.hijack();
    const { raw } = reply;
    // A watch lasts: it does not count as a request under way.
    this.#inFlight -= 1;
    this.#watches.add(raw);
    raw.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-cache, private' });
    raw.flushHeaders();
    try {
      for await (const line of lines) {
        raw.write(line);
        if (raw.writableLength > unsentBytesMax && !(await this.#hasDrained(reply, signal))) break;
      }
    } catch (error) {
      this.parts.onDefect(error);
    } finally {
      this.#inFlight += 1;
      this.#watches.delete(raw);
      raw.end();
    }
    return reply;
  }

  #hasDrained({ raw }: FastifyReply, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (hasDrained: boolean): void => {
        timer.cancel();
        raw.off('drain', onDrain);
        signal.removeEventListener('abort', onAbort);
        resolve(hasDrained);
      };
      const onDrain = (): void => finish(true);
      const onAbort = (): void => finish(false);
      const timer = this.parts.env.after(unsentWaitMs, () => finish(false));
      raw.once('drain', onDrain);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #sendError(reply: FastifyReply, error: unknown): FastifyReply {
    const status = statusOf(asBerthError(error));
    const retryAfter = status.details?.['retryAfterSeconds'];
    if (typeof retryAfter === 'number') reply.header('Retry-After', String(retryAfter));
    return reply.code(status.code).header('Content-Type', 'application/json').send(JSON.stringify(status));
  }

  #audit(
    request: FastifyRequest,
    routed: Routed | undefined,
    identity: Identity,
    answer: ApiResponse | Status,
  ): void {
    if (routed === undefined || readVerbs.includes(routed.verb)) return;
    const { verb, kindName: kind, path } = routed;
    const value = 'value' in answer ? answer.value : undefined;
    const versions = 'versions' in answer ? answer.versions : undefined;
    const { resourceVersion: shown, name = path.name } =
      (value as { metadata?: { resourceVersion?: unknown; name?: unknown } } | undefined)?.metadata ?? {};
    const version = versions?.after ?? shown;
    this.parts.audit.record({
      who: formatIdentity(identity),
      verb,
      kind,
      outcome: 'code' in answer ? answer.code : answer.kind === 'value' ? answer.status : 200,
      requestId: request.id,
      sourceIP: request.ip,
      ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      ...(typeof name === 'string' ? { name } : {}),
      ...(path.subresource === undefined ? {} : { subresource: path.subresource }),
      ...(versions?.before === undefined ? {} : { revisionBefore: versions.before }),
      ...(typeof version === 'string' ? { revisionAfter: version } : {}),
    });
  }
}

async function sendYaml(
  reply: FastifyReply,
  { value, contentType }: { readonly value: unknown; readonly contentType?: string | undefined },
): Promise<FastifyReply> {
  // Few ask for it: loaded when one does.
  const { stringify } = await import('yaml');
  return reply.header('Content-Type', contentType ?? 'application/yaml').send(stringify(value));
}

/** No route has a schema of fastify's. */
const noCompiler = (): never => {
  throw new Error('nothing here is checked by the schemas of routes');
};

const verbsOfMethods: Readonly<Record<string, string>> = { GET: 'get', HEAD: 'get', POST: 'create' };

const labelsOf = ({ method }: FastifyRequest, routed: Routed | undefined): RequestLabels =>
  routed === undefined
    ? { verb: verbsOfMethods[method] ?? 'other', kind: undefined }
    : { verb: routed.verb, kind: routed.kindName };

const noQuery = new URLSearchParams();
const noBody = Buffer.alloc(0);

function toApiRequest(request: FastifyRequest, identity: Identity, signal: AbortSignal): ApiRequest {
  const { url } = request;
  const pathLength = url.indexOf('?');
  return {
    method: request.method,
    path: pathLength < 0 ? url : url.slice(0, pathLength),
    query: pathLength < 0 ? noQuery : new URLSearchParams(url.slice(pathLength + 1)),
    accept: request.headers.accept,
    contentType: request.headers['content-type'],
    userAgent: request.headers['user-agent'],
    body: Buffer.isBuffer(request.body) ? request.body : noBody,
    identity,
    signal,
  };
}

/** What fastify itself refuses, in our own words. */
function asBerthError(error: unknown): unknown {
  if (error instanceof BerthError) return error;
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message?: string };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new BerthError('RequestTooLarge', `the body is larger than ${bodyBytesMax} bytes`);
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new BerthError('BadRequest', message ?? 'the request cannot be read');
  }
  return error;
}
