import { type ServiceError, status } from '@grpc/grpc-js';
import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import { BerthError, type ErrorCode, isBerthError } from '../model/errors.js';
import { checkTransaction } from './check-transaction.js';
import {
  asRevision,
  type Entry,
  framingBytesPerKey,
  type KeyRange,
  type ReadOptions,
  type ReadResult,
  type Revision,
  type Store,
  type Transaction,
  type TransactOutcome,
  type Watch,
  type WatchOptions,
} from './contract.js';
import type { TxnAnswer } from './etcd-answers.js';
import {
  backoffMs,
  EtcdEndpoints,
  type EtcdMember,
  type EtcdTls,
  isPassing,
  isServiceError,
} from './etcd-endpoints.js';
import {
  changesMethod,
  compactMethod,
  encodedTxnMethod,
  type EtcdKeyValue,
  rangeMethod,
  txnMethod,
} from './etcd-protocol.js';
import { EtcdEchoes } from './etcd-echoes.js';
import { encodeTransaction } from './etcd-transaction.js';
import { EtcdWatch } from './etcd-watch.js';
import { failedGuards, stateOf } from './guards.js';
import { expired, futureRevision, storeClosed } from './history-errors.js';
import { readLimit } from './read-limit.js';

export interface EtcdOptions {
  /** http://HOST:PORT or https://HOST:PORT, one or more members of one cluster. */
  readonly endpoints: readonly string[];
  readonly env: Env;
  readonly tls?: EtcdTls;
  /** What stands before every key, so that one etcd can serve others too. */
  readonly prefix?: string;
  readonly requestTimeoutMs?: number;
}

// With these words, and no others, etcd refuses a transaction before it proposes it to the cluster. The code
// alone says nothing: grpc-js gives the same codes to broken connections. "Space exceeded" is not among them:
// etcd may say that of a transaction it has applied.
const refusals: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['etcdserver: request is too large', 'InvalidTransaction'],
  ['etcdserver: too many operations in txn request', 'InvalidTransaction'],
  ['etcdserver: duplicate key given in txn request', 'InvalidTransaction'],
  ['etcdserver: too many requests', 'StoreOverloaded'],
  ['etcdserver: permission denied', 'StoreUnavailable'],
  ['etcdserver: user name is empty', 'StoreUnavailable'],
  ['etcdserver: invalid auth token', 'StoreUnavailable'],
]);

const retryDelayMsMin = 50;
const retryDelayMsMax = 1_000;
const prefixLengthMax = 50;
// No key and no prefix has a space, so no store's keys are inside another's range.
const separator = ' ';

/** The store of a cluster: a real etcd, version 3.4 or later. Its revision is etcd's own. */
export class EtcdStore implements Store {
  readonly #env: Env;
  readonly #endpoints: EtcdEndpoints;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #watches = new Set<EtcdWatch>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #echoes = new EtcdEchoes();
  #closing: Promise<void> | undefined;

  constructor(options: EtcdOptions) {
    const { prefix = '/berth' } = options;
    if (
      prefix.length > prefixLengthMax ||
      prefixLengthMax > framingBytesPerKey ||
      !/^[\x21-\x7e]*$/.test(prefix)
    ) {
      throw new RangeError(
        `etcd prefix ${JSON.stringify(prefix)}: allowed are up to ${prefixLengthMax} printable ASCII characters without spaces`,
      );
    }
    this.#env = options.env;
    this.#endpoints = new EtcdEndpoints(options.endpoints, options.env, options.tls);
    this.#prefix = `${prefix}${separator}`;
    this.#timeoutMs = options.requestTimeoutMs ?? 5_000;
  }

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    this.#refuseIfClosed();
    const limit = readLimit(options);
    const revision = options?.revision;
    const request = {
      key: this.#bytes(range.from),
      range_end: this.#bytes(range.to),
      limit,
      ...(revision === undefined ? {} : { revision }),
    };
    const response = await this.#tracked(
      this.#retried(revision, (member, timeoutMs) =>
        this.#endpoints.call(member, rangeMethod, request, timeoutMs),
      ),
    );
    return {
      entries: response.kvs.map(this.#entry),
      revision: revision ?? asRevision(response.header.revision),
      more: response.more,
    };
  }

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    this.#refuseIfClosed();
    checkTransaction(transaction);
    return this.#tracked(this.#send(transaction));
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    this.#refuseIfClosed();
    const watch: EtcdWatch = new EtcdWatch(
      {
        endpoints: this.#endpoints,
        env: this.#env,
        from: this.#bytes(range.from),
        to: this.#bytes(range.to),
        method: changesMethod(this.#prefix.length, this.#echoes.own),
      },
      options,
      () => this.#watches.delete(watch),
    );
    this.#watches.add(watch);
    return watch;
  }

  async compact(revision: Revision): Promise<void> {
    this.#refuseIfClosed();
    try {
      await this.#tracked(
        this.#retried(revision, (member, timeoutMs) =>
          this.#endpoints.call(member, compactMethod, { revision }, timeoutMs),
        ),
      );
    } catch (error) {
      // Somebody else has compacted further: that is what was asked for.
      if (!(error instanceof BerthError && error.code === 'Expired')) throw error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    for (const watch of this.#watches) watch.end(storeClosed());
    this.#endpoints.close();
  }

  async #send(transaction: Transaction): Promise<TransactOutcome> {
    const request = encodeTransaction(transaction, this.#prefix);
    if (this.#watches.size > 0)
      for (const write of transaction.writes)
        if (write.kind === 'put') this.#echoes.expect(write.key, write.value);
    const member = await this.#endpoints.connected(this.#timeoutMs);
    let answer: TxnAnswer;
    try {
      // From here on the transaction may be applied whatever we hear: it is sent once and never again.
      answer = await this.#endpoints.call(member, encodedTxnMethod, request, this.#timeoutMs);
    } catch (error) {
      const refusal = isServiceError(error) ? refusals.get(error.details) : undefined;
      if (refusal !== undefined) throw new BerthError(refusal, told(member, error), { cause: error });
      this.#endpoints.turnFrom(member);
      return { kind: 'UnknownOutcome', cause: new Error(told(member, error), { cause: error }) };
    }
    const { revision, succeeded } = answer;
    if (succeeded) return { kind: 'Committed', revision };
    const current = await this.#entriesAt(new Set(transaction.guards.map(({ key }) => key)), revision);
    const failed = failedGuards(
      transaction.guards,
      stateOf((key) => current.get(key)),
    );
    return { kind: 'GuardFailed', revision, failed };
  }

  /** What stood under these keys at a revision. If that cannot be read the error says so; nothing was applied. */
  async #entriesAt(keys: ReadonlySet<string>, revision: Revision): Promise<ReadonlyMap<string, Entry>> {
    const request = {
      compare: [],
      success: Array.from(keys, (key) => ({ request_range: { key: this.#bytes(key), revision } })),
      failure: [],
    };
    const { responses } = await this.#retried(revision, (member, timeoutMs) =>
      this.#endpoints.call(member, txnMethod, request, timeoutMs),
    ).catch((error: Error) => {
      if (!isBerthError(error, 'Expired')) throw error;
      throw new BerthError('StoreUnavailable', `a guard failed, and why was forgotten: ${error.message}`, {
        cause: error,
      });
    });
    const found = new Map<string, Entry>();
    for (const { response_range } of responses)
      for (const keyValue of response_range?.kvs ?? []) {
        const entry = this.#entry(keyValue);
        found.set(entry.key, entry);
      }
    return found;
  }

  /** For requests that may be sent twice: tries members in turn until one answers or time is up. */
  async #retried<R>(
    revision: Revision | undefined,
    send: (member: EtcdMember, timeoutMs: number) => Promise<R>,
  ): Promise<R> {
    const startedAt = this.#env.clock.monotonic();
    const leftMs = (): number => this.#timeoutMs - msBetween(startedAt, this.#env.clock.monotonic());
    // A member that says nothing must leave time to ask another one.
    const attemptMs = this.#timeoutMs / this.#endpoints.count;
    for (const delayMs of backoffMs(this.#env, retryDelayMsMin, retryDelayMsMax)) {
      const member = await this.#endpoints.connected(Math.max(1, leftMs()));
      try {
        return await send(member, Math.max(1, Math.min(leftMs(), attemptMs)));
      } catch (error) {
        const history = historyError(error, revision);
        if (history !== undefined) throw history;
        this.#endpoints.turnFrom(member);
        if (!isPassing(error) || leftMs() <= delayMs) {
          throw new BerthError('StoreUnavailable', told(member, error), { cause: error });
        }
        await this.#env.sleep(delayMs);
      }
    }
    throw new Error('unreachable: the delays never end');
  }

  /** Closing waits for what was accepted before it. */
  async #tracked<T>(operation: Promise<T>): Promise<T> {
    this.#underWay.add(operation);
    try {
      return await operation;
    } finally {
      this.#underWay.delete(operation);
    }
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
    if (this.#closing !== undefined) throw storeClosed();
  }
}

const told = (member: EtcdMember, error: unknown): string =>
  `etcd at ${member.url}: ${(error as Error).message}`;

/** etcd tells a compacted revision from a future one only by its words. */
function historyError(error: unknown, revision: Revision | undefined): BerthError | undefined {
  if (!isServiceError(error) || error.code !== status.OUT_OF_RANGE || revision === undefined)
    return undefined;
  return isCompacted(error) ? expired(revision) : futureRevision(revision);
}

const isCompacted = (error: ServiceError): boolean => error.details.includes('compacted');
