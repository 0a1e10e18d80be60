import { type ServiceError, status } from '@grpc/grpc-js';
import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
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
import { EtcdOutage } from './etcd-outage.js';
import { encodeTransaction } from './etcd-transaction.js';
import { EtcdWatch } from './etcd-watch.js';
import { failedGuards, stateOf } from './guards.js';
import { expired, futureRevision, storeClosed } from './history-errors.js';
import { singleKey } from './key-range.js';
import { readLimit } from './read-limit.js';

export interface EtcdOptions {
  /** http://HOST:PORT or https://HOST:PORT, one or more members of one cluster. */
  readonly endpoints: readonly string[];
  readonly env: Env;
  readonly tls?: EtcdTls;
  /** What stands before every key, so that one etcd can serve others too. */
  readonly prefix?: string;
  /** Every request is answered within this, whatever it takes inside. */
  readonly requestTimeoutMs?: number;
}

// With these words, and no others, etcd refuses a transaction before it proposes it to the cluster. The code
// alone says nothing: grpc-js gives the same codes to broken connections. "Space exceeded" is not among them:
// etcd may say that of a transaction it has applied.
// "No leader" is: a member that knows of no leader refuses, before it looks at it, a request that asks for one, as ours do.
const refusals: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['etcdserver: request is too large', 'InvalidTransaction'],
  ['etcdserver: too many operations in txn request', 'InvalidTransaction'],
  ['etcdserver: duplicate key given in txn request', 'InvalidTransaction'],
  ['etcdserver: too many requests', 'StoreOverloaded'],
  ['etcdserver: no leader', 'StoreUnavailable'],
  ['etcdserver: permission denied', 'StoreUnavailable'],
  ['etcdserver: user name is empty', 'StoreUnavailable'],
  ['etcdserver: invalid auth token', 'StoreUnavailable'],
]);

// An election takes up to two seconds. The servers promise an answer within 3 s (docs/api.md) and need some of that for the
// way.
const requestTimeoutMsDefault = 2_500;
// How much of its time a transaction may wait for a connection: sent too late, its outcome would stay unknown.
const connectingShare = 0.8;
const retryDelayMsMin = 50;
const retryDelayMsMax = 500;
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
  readonly #outage: EtcdOutage;
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
    this.#timeoutMs = options.requestTimeoutMs ?? requestTimeoutMsDefault;
    this.#outage = new EtcdOutage({
      env: options.env,
      probe: () => this.#read(singleKey('/'), {}, this.#env.clock.monotonic()),
    });
  }

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    this.#refuseIfClosed();
    if (this.#outage.isOn) await this.#outage.refuse();
    return this.#tracked(this.#read(range, options, this.#env.clock.monotonic()));
  }

  async #read(
    range: KeyRange,
    options: ReadOptions | undefined,
    startedAt: MonotonicInstant,
  ): Promise<ReadResult> {
    const limit = readLimit(options);
    const revision = options?.revision;
    const request = {
      key: this.#bytes(range.from),
      range_end: this.#bytes(range.to),
      limit,
      ...(revision === undefined ? {} : { revision }),
    };
    const response = await this.#retried(startedAt, revision, (member, timeoutMs) =>
      this.#endpoints.call(member, rangeMethod, request, timeoutMs),
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
    if (this.#outage.isOn) await this.#outage.refuse();
    return this.#tracked(this.#send(transaction, this.#env.clock.monotonic()));
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
    if (this.#outage.isOn) await this.#outage.refuse();
    try {
      await this.#tracked(
        this.#retried(this.#env.clock.monotonic(), revision, (member, timeoutMs) =>
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
    this.#outage.close();
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    for (const watch of this.#watches) watch.end(storeClosed());
    this.#endpoints.close();
  }

  async #send(transaction: Transaction, startedAt: MonotonicInstant): Promise<TransactOutcome> {
    const request = encodeTransaction(transaction, this.#prefix);
    if (this.#watches.size > 0)
      for (const write of transaction.writes)
        if (write.kind === 'put') this.#echoes.expect(write.key, write.value);
    const member = await this.#connected(startedAt, this.#timeoutMs * connectingShare);
    let answer: TxnAnswer;
    try {
      // From here on the transaction may be applied whatever we hear: it is sent once and never again.
      answer = await this.#endpoints.call(member, encodedTxnMethod, request, this.#leftMs(startedAt));
    } catch (error) {
      const refusal = isServiceError(error) ? refusals.get(error.details) : undefined;
      if (refusal !== 'InvalidTransaction') this.#endpoints.turnFrom(member);
      if (refusal !== undefined) throw new BerthError(refusal, told(member, error), { cause: error });
      if (isServiceError(error) && error.code === status.DEADLINE_EXCEEDED)
        this.#outage.unanswered(startedAt, new Error(told(member, error)));
      return { kind: 'UnknownOutcome', cause: new Error(told(member, error), { cause: error }) };
    }
    this.#outage.answered();
    const { revision, succeeded } = answer;
    if (succeeded) return { kind: 'Committed', revision };
    const keys = new Set(transaction.guards.map(({ key }) => key));
    const current = await this.#entriesAt(startedAt, keys, revision);
    const failed = failedGuards(
      transaction.guards,
      stateOf((key) => current.get(key)),
    );
    return { kind: 'GuardFailed', revision, failed };
  }

  /** What stood under these keys at a revision. If that cannot be read the error says so; nothing was applied. */
  async #entriesAt(
    startedAt: MonotonicInstant,
    keys: ReadonlySet<string>,
    revision: Revision,
  ): Promise<ReadonlyMap<string, Entry>> {
    const request = {
      compare: [],
      success: Array.from(keys, (key) => ({ request_range: { key: this.#bytes(key), revision } })),
      failure: [],
    };
    const { responses } = await this.#retried(startedAt, revision, (member, timeoutMs) =>
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
    startedAt: MonotonicInstant,
    revision: Revision | undefined,
    send: (member: EtcdMember, timeoutMs: number) => Promise<R>,
  ): Promise<R> {
    // A member that says nothing must leave time to ask another one.
    const attemptMs = this.#timeoutMs / this.#endpoints.count;
    for (const delayMs of backoffMs(this.#env, retryDelayMsMin, retryDelayMsMax)) {
      const member = await this.#connected(startedAt, this.#timeoutMs);
      try {
        const answer = await send(member, Math.min(this.#leftMs(startedAt), attemptMs));
        this.#outage.answered();
        return answer;
      } catch (error) {
        const history = historyError(error, revision);
        if (history !== undefined) {
          this.#outage.answered();
          throw history;
        }
        this.#endpoints.turnFrom(member);
        const isLast = this.#leftMs(startedAt) <= delayMs;
        if (!isPassing(error) || isLast) {
          const unavailable = new BerthError('StoreUnavailable', told(member, error), { cause: error });
          if (isPassing(error)) this.#outage.unanswered(startedAt, unavailable);
          throw unavailable;
        }
        await this.#env.sleep(delayMs);
      }
    }
    throw new Error('unreachable: the delays never end');
  }

  /** A member to ask, for a request made at `startedAt` that may wait so long for one. */
  async #connected(startedAt: MonotonicInstant, withinMs: number): Promise<EtcdMember> {
    try {
      return await this.#endpoints.connected(Math.min(withinMs, this.#leftMs(startedAt)));
    } catch (error) {
      this.#outage.unanswered(startedAt, error as Error);
      throw error;
    }
  }

  /** The rest of the time of a request; at least 1 ms, so that the last step fails by itself. */
  #leftMs(startedAt: MonotonicInstant): number {
    return Math.max(1, this.#timeoutMs - msBetween(startedAt, this.#env.clock.monotonic()));
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
