import { type ServiceError, status } from '@grpc/grpc-js';
import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import { BerthError, type ErrorCode } from '../model/errors.js';
import { expired, futureRevision, readLimit } from './check-read.js';
import { checkTransaction } from './check-transaction.js';
import {
  asRevision,
  type Entry,
  type Guard,
  type KeyRange,
  type ReadOptions,
  type ReadResult,
  type Revision,
  type Store,
  type Transaction,
  type TransactOutcome,
  type Watch,
  type WatchOptions,
  type Write,
} from './contract.js';
import { EtcdEndpoints, type EtcdTls, isPassing, isServiceError } from './etcd-endpoints.js';
import {
  compactMethod,
  type EtcdCompare,
  type EtcdKeyValue,
  rangeMethod,
  type RequestOp,
  type TxnRequest,
  txnMethod,
  type TxnResponse,
} from './etcd-protocol.js';
import { followEtcd } from './etcd-watch.js';
import { failedGuards } from './guards.js';
import { WatchBuffer } from './watch-buffer.js';

export interface EtcdOptions {
  /** http://HOST:PORT or https://HOST:PORT, one or more members of one cluster. */
  readonly endpoints: readonly string[];
  readonly env: Env;
  readonly tls?: EtcdTls;
  /** What stands before every key, so that one etcd can serve others too. */
  readonly prefix?: string;
  readonly requestTimeoutMs?: number;
}

// The codes with which etcd refuses a transaction before or instead of applying it. Any other error leaves
// the outcome open.
const refusals = new Map<number, ErrorCode>([
  [status.INVALID_ARGUMENT, 'InvalidTransaction'],
  [status.PERMISSION_DENIED, 'StoreUnavailable'],
  [status.UNAUTHENTICATED, 'StoreUnavailable'],
  [status.RESOURCE_EXHAUSTED, 'StoreOverloaded'],
]);

const retryDelayMsMin = 50;
const retryDelayMsMax = 1_000;

/** The store of a cluster: a real etcd, version 3.4 or later. Its revision is etcd's own. */
export class EtcdStore implements Store {
  readonly #env: Env;
  readonly #endpoints: EtcdEndpoints;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #watches = new Set<WatchBuffer>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: EtcdOptions) {
    this.#env = options.env;
    this.#endpoints = new EtcdEndpoints(options.endpoints, options.env, options.tls);
    this.#prefix = options.prefix ?? '/berth';
    this.#timeoutMs = options.requestTimeoutMs ?? 5_000;
  }

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    this.#refuseIfClosed();
    const limit = readLimit(options);
    const request = {
      key: this.#bytes(range.from),
      range_end: this.#bytes(range.to),
      limit,
      ...(options?.revision === undefined ? {} : { revision: options.revision }),
    };
    const response = await this.#retried((member, timeoutMs) =>
      this.#endpoints.call(member, rangeMethod, request, timeoutMs),
    ).catch((error: unknown) => {
      throw historyError(error, options?.revision) ?? error;
    });
    return {
      entries: response.kvs.map(this.#entry),
      revision: options?.revision ?? asRevision(response.header.revision),
      more: response.more,
    };
  }

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    this.#refuseIfClosed();
    checkTransaction(transaction);
    const request: TxnRequest = {
      compare: transaction.guards.map((guard) => this.#compare(guard)),
      success: transaction.writes.map((write) => this.#operation(write)),
      // Read what stands there in the same transaction, so that the caller knows why it failed.
      failure: transaction.guards.map((guard) => ({ request_range: { key: this.#bytes(guard.key) } })),
    };
    const member = await this.#endpoints.connected(this.#timeoutMs);
    // From here on the transaction may be applied whatever we hear: it is sent once and never again.
    const sent = this.#endpoints.call(member, txnMethod, request, this.#timeoutMs);
    this.#inFlight.add(sent);
    try {
      return this.#outcome(transaction, await sent);
    } catch (error) {
      const refusal = isServiceError(error) ? refusalCode(error) : undefined;
      const message = `etcd at ${member.url}: ${(error as Error).message}`;
      if (refusal !== undefined) throw new BerthError(refusal, message, { cause: error });
      this.#endpoints.turnFrom(member);
      return { kind: 'UnknownOutcome', cause: new Error(message, { cause: error }) };
    } finally {
      this.#inFlight.delete(sent);
    }
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    this.#refuseIfClosed();
    const stop = new AbortController();
    const buffer: WatchBuffer = new WatchBuffer(options, () => {
      this.#watches.delete(buffer);
      stop.abort();
    });
    if (buffer.isEnded) return buffer;
    this.#watches.add(buffer);
    void followEtcd({
      endpoints: this.#endpoints,
      env: this.#env,
      from: this.#bytes(range.from),
      to: this.#bytes(range.to),
      entryOf: this.#entry,
      buffer,
      signal: stop.signal,
    });
    return buffer;
  }

  async compact(revision: Revision): Promise<void> {
    this.#refuseIfClosed();
    try {
      await this.#retried((member, timeoutMs) =>
        this.#endpoints.call(member, compactMethod, { revision }, timeoutMs),
      );
    } catch (error) {
      const told = historyError(error, revision);
      // Somebody else has compacted further: that is what was asked for.
      if (told?.code === 'Expired') return;
      throw told ?? error;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled(this.#inFlight);
    for (const watch of this.#watches) watch.end(new BerthError('StoreClosed', 'the store was closed'));
    this.#endpoints.close();
  }

  /** For requests that may be sent twice: tries members in turn until one answers or time is up. */
  async #retried<R>(
    send: (member: Awaited<ReturnType<EtcdEndpoints['connected']>>, timeoutMs: number) => Promise<R>,
  ): Promise<R> {
    const startedAt = this.#env.clock.monotonic();
    for (let delayMs = retryDelayMsMin; ; delayMs = Math.min(delayMs * 2, retryDelayMsMax)) {
      const member = await this.#endpoints.connected(this.#timeoutMs);
      try {
        return await send(member, this.#timeoutMs);
      } catch (error) {
        if (!isPassing(error)) throw error;
        this.#endpoints.turnFrom(member);
        if (msBetween(startedAt, this.#env.clock.monotonic()) + delayMs > this.#timeoutMs) {
          throw new BerthError('StoreUnavailable', `etcd at ${member.url}: ${(error as Error).message}`, {
            cause: error,
          });
        }
        await this.#env.sleep(delayMs * (0.5 + this.#env.random.float() / 2));
      }
    }
  }

  #outcome(transaction: Transaction, response: TxnResponse): TransactOutcome {
    const revision = asRevision(response.header.revision);
    if (response.succeeded) return { kind: 'Committed', revision };
    const current = new Map<string, Entry>();
    for (const { response_range } of response.responses) {
      for (const keyValue of response_range?.kvs ?? []) {
        const entry = this.#entry(keyValue);
        current.set(entry.key, entry);
      }
    }
    return {
      kind: 'GuardFailed',
      revision,
      failed: failedGuards(transaction.guards, (key) => current.get(key)),
    };
  }

  #compare(guard: Guard): EtcdCompare {
    const key = this.#bytes(guard.key);
    switch (guard.kind) {
      case 'absent':
        return { result: 'EQUAL', target: 'CREATE', key, create_revision: 0 };
      case 'unchanged':
        return { result: 'EQUAL', target: 'MOD', key, mod_revision: guard.modRevision };
      case 'value':
        return { result: 'EQUAL', target: 'VALUE', key, value: guard.value };
    }
  }

  #operation(write: Write): RequestOp {
    const key = this.#bytes(write.key);
    return write.kind === 'put'
      ? { request_put: { key, value: write.value } }
      : { request_delete_range: { key } };
  }

  readonly #entry = ({ key, value, create_revision, mod_revision }: EtcdKeyValue): Entry => ({
    key: key.toString('latin1', this.#prefix.length),
    value,
    createRevision: asRevision(create_revision),
    modRevision: asRevision(mod_revision),
  });

  #bytes(key: string): Buffer {
    return Buffer.from(this.#prefix + key, 'latin1');
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new BerthError('StoreClosed', 'the store was closed');
  }
}

function refusalCode(error: ServiceError): ErrorCode | undefined {
  return error.details.includes('space exceeded') ? 'StoreFull' : refusals.get(error.code);
}

/** etcd tells a compacted revision from a future one only by its words. */
function historyError(error: unknown, revision: Revision | undefined): BerthError | undefined {
  if (!isServiceError(error) || error.code !== status.OUT_OF_RANGE || revision === undefined)
    return undefined;
  return error.details.includes('compacted') ? expired(revision) : futureRevision(revision);
}
