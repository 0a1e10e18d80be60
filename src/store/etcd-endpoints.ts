import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { Env } from '../env/env.js';
import { msBetween, wallMs } from '../env/instant.js';
import { BerthError } from '../model/errors.js';

export interface EtcdTls {
  /** PEM. Without it the machine's own roots are trusted. */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** A method as a caller needs it. */
export interface EtcdMethod<Q, R> {
  readonly path: string;
  readonly requestSerialize: (request: Q) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => R;
}

/** One member of the etcd cluster, with one HTTP/2 connection. */
export interface EtcdMember {
  readonly url: string;
  readonly client: Client;
}

// A member that has lost its leader says so at once instead of letting the request time out.
const requireLeader = new Metadata();
requireLeader.set('hasleader', 'true');

const channelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.max_receive_message_length': -1,
  // What may be on its way to us unread. By default 64 KiB, some forty binds: the watch would get no more than that with
  // each turn of the event loop, and fall behind by seconds while the loop is busy.
  'grpc-node.flow_control_window': 1024 * 1024,
  // Whoever sends a transaction decides whether it is sent again; the channel must not.
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
};

/**
 * The members of one etcd cluster. Requests go to one of them until it fails; then the next takes its place.
 */
export class EtcdEndpoints {
  readonly #members: readonly EtcdMember[];
  readonly #env: Env;
  #current = 0;

  constructor(urls: readonly string[], env: Env, tls: EtcdTls | undefined) {
    if (urls.length === 0)
      throw new RangeError('etcd endpoints: the list is empty, at least one URL is needed');
    this.#env = env;
    this.#members = urls.map((url) => ({ url, client: connect(url, tls) }));
  }

  get count(): number {
    return this.#members.length;
  }

  /** A member with an open connection. Nothing has been sent when this fails. */
  async connected(timeoutMs: number): Promise<EtcdMember> {
    const startedAt = this.#env.clock.monotonic();
    const perMemberMs = Math.max(200, timeoutMs / this.#members.length);
    for (let tried = 0; tried < this.#members.length; tried++) {
      const member = this.#members[this.#current] as EtcdMember;
      const leftMs = Math.max(1, timeoutMs - msBetween(startedAt, this.#env.clock.monotonic()));
      if (await this.#isReady(member, Math.min(perMemberMs, leftMs))) return member;
      this.turnFrom(member);
    }
    const urls = this.#members.map((member) => member.url).join(', ');
    throw new BerthError('StoreUnavailable', `no etcd member answers: ${urls}`);
  }

  /** Sends later requests to another member than this one. */
  turnFrom(member: EtcdMember): void {
    if (this.#members[this.#current] === member) this.#current = (this.#current + 1) % this.#members.length;
  }

  call<Q, R>(member: EtcdMember, method: EtcdMethod<Q, R>, request: Q, timeoutMs: number): Promise<R> {
    return new Promise((resolve, reject) => {
      member.client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        requireLeader,
        { deadline: this.#deadline(timeoutMs) },
        (error: ServiceError | null, response?: R) => {
          if (error !== null) reject(error);
          else if (response === undefined) reject(new Error(`etcd answered ${method.path} with nothing`));
          else resolve(response);
        },
      );
    });
  }

  stream<Q, R>(member: EtcdMember, method: EtcdMethod<Q, R>): ClientDuplexStream<Q, R> {
    return member.client.makeBidiStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      requireLeader,
    );
  }

  close(): void {
    for (const { client } of this.#members) client.close();
  }

  #isReady({ client }: EtcdMember, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      client.waitForReady(this.#deadline(timeoutMs), (error) => resolve(error === undefined));
    });
  }

  #deadline(timeoutMs: number): number {
    return wallMs(this.#env.clock.wall()) + timeoutMs;
  }
}

function connect(url: string, tls: EtcdTls | undefined): Client {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new RangeError(
      `etcd endpoint ${JSON.stringify(url)}: allowed is http://HOST:PORT or https://HOST:PORT`,
    );
  }
  const isSecure = parsed.protocol === 'https:';
  if (!isSecure && tls !== undefined) {
    throw new RangeError(
      `etcd endpoint ${JSON.stringify(url)}: certificates were given, so it must be https://HOST:PORT`,
    );
  }
  const channelCredentials = isSecure
    ? credentials.createSsl(tls?.ca ?? null, tls?.key ?? null, tls?.cert ?? null)
    : credentials.createInsecure();
  return new Client(`${parsed.hostname}:${parsed.port || '2379'}`, channelCredentials, channelOptions);
}

export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && typeof (error as Partial<ServiceError>).code === 'number';

const passingCodes: readonly number[] = [
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.INTERNAL,
  status.UNKNOWN,
];

/** Whether asking again, perhaps another member, may help with a request that changes nothing. */
export const isPassing = (error: unknown): boolean =>
  isServiceError(error) && passingCodes.includes(error.code);

/** How long to wait before the next try: a random part of a delay that doubles. */
export function* backoffMs(env: Env, minMs: number, maxMs: number): Generator<number, never> {
  for (let delayMs = minMs; ; delayMs = Math.min(delayMs * 2, maxMs)) {
    yield delayMs * (0.5 + env.random.float() / 2);
  }
}
