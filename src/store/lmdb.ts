import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import { checkTransaction } from './check-transaction.js';
import {
  asRevision,
  type Entry,
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
import { failedGuards, type NewestState } from './guards.js';
import { futureRevision, storeClosed } from './history-errors.js';
import { type Answer, batchMemory, LmdbBatch } from './lmdb-batch.js';
import type { LmdbSync } from './lmdb-environment.js';
import { LmdbFiles } from './lmdb-files.js';
import { liveEntry } from './lmdb-layout.js';
import { LmdbNewest } from './lmdb-newest.js';
import { readLimit } from './read-limit.js';
import { type Arrival, TransactionQueue } from './transaction-queue.js';
import { WatchHub } from './watch-hub.js';

export interface LmdbOptions {
  readonly dir: string;
  readonly env: Env;
  /** `none` gives up durability: for the test that shows what it would cost. */
  readonly sync?: LmdbSync;
  /** Told of every batch that came onto disk: how many transactions shared its flush. */
  readonly onBatch?: (transactions: number) => void;
}

// A batch is closed when it is this large: one flush then takes tens of milliseconds at most.
const batchTransactionsMax = 2_000;
const batchBytesMax = 4 * 1024 * 1024;
// How many keys are looked at in one go before others get a turn: some ten milliseconds.
const judgedKeysMax = 10_000;

/**
 * The store of one machine. Transactions are judged on the main thread, in order of arrival, against the
 * newest state there is (what is on disk, plus the batch being flushed, plus the batch being formed). The
 * batch being formed is flushed as soon as the one before it is on disk, so callers share flushes.
 *
 * Invariants:
 * - `#durable` is the newest revision known to be on disk. Reads and watches see that revision and nothing
 *   newer, even while lmdb's files already show more.
 * - At most one batch is in flight. What is in `#forming` has never been sent, so it can be dropped safely.
 * - Nothing is judged while a compaction slice runs: whether an old version must be saved for history depends
 *   on the compacted revision.
 * - After a commit that lmdb could not confirm, nothing is accepted until reopened files have taken a write,
 *   and `#durable` has been read from them again.
 */
export class LmdbStore implements Store {
  #forming = new LmdbBatch();
  #inFlight: LmdbBatch | undefined;
  // Of the last batch that came onto disk, for the next one.
  #spareMemory: ArrayBuffer | undefined;
  readonly #queue = new TransactionQueue();
  #durable: Revision;
  #newest: Revision;
  #compacted: Revision;
  #isPumpScheduled = false;
  #isCompacting = false;
  #lastCompaction: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #unhealthy: { readonly since: Error; readonly over: Promise<void> } | undefined;
  // The batch whose commit lmdb could not confirm. Recovery finds out whether it is on disk.
  #unresolved: { readonly batch: LmdbBatch; readonly lastRevision: Revision } | undefined;
  #idleWaiters: (() => void)[] = [];
  readonly #hub: WatchHub;
  readonly #known: LmdbNewest;

  static async open({ dir, env, sync = 'flush', onBatch }: LmdbOptions): Promise<LmdbStore> {
    return new LmdbStore(await LmdbFiles.open(dir, sync, env), env, onBatch);
  }

  private constructor(
    private readonly files: LmdbFiles,
    private readonly env: Env,
    private readonly onBatch: ((transactions: number) => void) | undefined,
  ) {
    const { revision, compacted } = files.meta();
    this.#durable = this.#newest = revision;
    this.#compacted = compacted;
    this.#known = new LmdbNewest(files);
    this.#hub = new WatchHub(
      {
        visibleRevision: () => this.#durable,
        compactedRevision: () => this.#compacted,
        changesAfter: (after) => files.read((reader) => reader.changesAfter(after, this.#durable)),
      },
      env,
    );
  }

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    this.#refuseIfClosed();
    const limit = readLimit(options);
    const asked = options?.revision;
    if (asked !== undefined && asked > this.#durable) throw futureRevision(asked, this.#durable);
    for (;;) {
      try {
        return await this.#readAt(range, limit, asked ?? this.#durable);
      } catch (error) {
        // A long read of the newest state was overtaken by a compaction: the newest state is newer now.
        if (asked !== undefined || !isBerthError(error, 'Expired')) throw error;
      }
    }
  }

  transact(transaction: Transaction): Promise<TransactOutcome> {
    return new Promise((resolve, reject) => {
      this.#refuseIfClosed();
      const bytes = checkTransaction(transaction);
      if (this.#unhealthy !== undefined) throw unavailable(this.#unhealthy.since);
      this.#queue.push({ transaction, bytes, resolve, reject });
      this.#schedulePump();
    });
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    this.#refuseIfClosed();
    return this.#hub.watch(range, options);
  }

  async compact(revision: Revision): Promise<void> {
    this.#refuseIfClosed();
    if (revision > this.#durable) throw futureRevision(revision, this.#durable);
    const compaction = this.#lastCompaction.then(() => this.#compactTo(revision));
    this.#lastCompaction = compaction.catch(() => undefined);
    return compaction;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#hasWork() && this.#unhealthy === undefined) await this.#nextIdle();
    this.files.giveUp(storeClosed());
    await this.#unhealthy?.over.catch(() => undefined);
    this.#hub.endAll(storeClosed());
    await this.files.close();
  }

  async #readAt(range: KeyRange, limit: number, revision: Revision): Promise<ReadResult> {
    const entries: Entry[] = [];
    for (let from = range.from; ;) {
      const left = limit - entries.length;
      const part = await this.files.read((reader) => reader.readPart({ from, to: range.to }, left, revision));
      for (const entry of part.entries) entries.push(entry);
      if (part.resumeFrom === undefined) return { entries, revision, more: part.more };
      from = part.resumeFrom;
      await this.env.yield();
    }
  }

  // ---- judging -----------------------------------------------------------------------------------------

  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    // Not at once: callers of the same turn then share a batch.
    queueMicrotask(() => {
      this.#isPumpScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#unhealthy !== undefined) return;
    // A compaction waits for what was judged before it, so sending goes on while judging rests.
    if (!this.#isCompacting) this.#judgeSome();
    this.#send();
    if (this.#inFlight === undefined) this.#wakeIdleWaiters();
  }

  #judgeSome(): void {
    // Also where it was asked for before everything was judged, and the files have been closed since.
    if (this.#queue.size === 0) return;
    try {
      this.#known.learnSome();
    } catch (error) {
      this.#becomeUnhealthy(error as Error);
      return;
    }
    for (let keys = 0; keys < judgedKeysMax;) {
      if (this.#forming.transactions >= batchTransactionsMax || this.#forming.bytes >= batchBytesMax) return;
      const arrival = this.#queue.shift();
      if (arrival === undefined) return;
      keys += arrival.transaction.guards.length + arrival.transaction.writes.length;
      try {
        this.#judge(arrival);
      } catch (error) {
        // The files could not be read: whatever is wrong with them, it is not this caller's doing.
        arrival.reject(unavailable(error as Error));
        this.#becomeUnhealthy(error as Error);
        return;
      }
    }
    void this.env.yield().then(() => this.#pump());
  }

  #judge({ transaction, resolve, reject }: Arrival): void {
    this.#known.begin();
    const failed = failedGuards(transaction.guards, this.#newestState);
    if (failed.length > 0) {
      const outcome: TransactOutcome = { kind: 'GuardFailed', revision: this.#newest, failed };
      this.#answerWhenDurable({ outcome, wrote: false, resolve, reject });
      return;
    }
    const revision = asRevision(this.#newest + 1);
    const { writes } = transaction;
    const wrote = this.#forming.add(writes, revision, this.#compacted, this.#known, this.files.current);
    if (wrote) this.#newest = revision;
    const answer: Answer = { outcome: { kind: 'Committed', revision: this.#newest }, wrote, resolve, reject };
    if (wrote) this.#forming.answers.push(answer);
    else this.#answerWhenDurable(answer);
  }

  /** An answer about state that is not on disk yet waits until it is. */
  #answerWhenDurable(answer: Answer): void {
    const batch = this.#forming.transactions > 0 ? this.#forming : this.#inFlight;
    if (batch === undefined) answer.resolve(answer.outcome);
    else batch.answers.push(answer);
  }

  readonly #newestState: NewestState = {
    entry: (key) => {
      const newest = this.#known.of(key);
      if (newest === undefined || newest.isDeleted) return undefined;
      const { value, createRevision, modRevision } = newest;
      return value === undefined
        ? liveEntry(key, this.files.current(key))
        : { key, value, createRevision, modRevision };
    },
    modRevision: (key) => {
      const newest = this.#known.of(key);
      return newest === undefined || newest.isDeleted ? undefined : newest.modRevision;
    },
  };

  // ---- flushing ----------------------------------------------------------------------------------------

  #send(): void {
    if (this.#inFlight !== undefined || this.#forming.transactions === 0) return;
    const batch = this.#forming;
    this.#inFlight = batch;
    this.#forming = new LmdbBatch(batchMemory(this.#spareMemory));
    this.#spareMemory = undefined;
    void this.#flush(batch, this.#newest);
  }

  async #flush(batch: LmdbBatch, lastRevision: Revision): Promise<void> {
    const reply = await this.files.writer.write(batch.encode(lastRevision, this.#compacted));
    this.#inFlight = undefined;
    if (reply.kind === 'done') {
      this.#spareMemory = reply.memory;
      // On disk: from here on it can be read, watched and acknowledged.
      this.#durable = lastRevision;
      this.files.refresh();
      this.#known.flushed(lastRevision);
      this.#hub.publish(batch.sets);
      for (const answer of batch.answers) answer.resolve(answer.outcome);
      this.onBatch?.(batch.transactions);
    } else if (reply.kind === 'full') {
      this.#newest = this.#durable;
      this.#known.forget();
      const full = new BerthError('StoreFull', reply.message);
      for (const waiting of [...batch.answers, ...this.#dropUnsent()]) waiting.reject(full);
    } else {
      const cause = new Error(reply.message);
      for (const answer of batch.answers) {
        if (answer.wrote) answer.resolve({ kind: 'UnknownOutcome', cause });
        else answer.reject(unavailable(cause));
      }
      this.#unresolved = { batch, lastRevision };
      this.#becomeUnhealthy(cause);
    }
    this.#pump();
    this.#wakeIdleWaiters();
  }

  /** Everything that waits and was never sent: what was judged on top of a batch that failed, and the queue. */
  #dropUnsent(): readonly (Answer | Arrival)[] {
    const { answers } = this.#forming;
    this.#forming = new LmdbBatch();
    return [...answers, ...this.#queue.drain()];
  }

  // ---- health and history ------------------------------------------------------------------------------

  /** Refuses writes until the files take them again; then finds out what became of the batch that was in flight. */
  #becomeUnhealthy(since: Error): void {
    for (const waiting of this.#dropUnsent()) waiting.reject(unavailable(since));
    this.#known.forget();
    if (this.#unhealthy !== undefined) return;
    const over = this.files.recover().then(({ revision, compacted }) => {
      const unresolved = this.#unresolved;
      this.#compacted = compacted;
      this.#newest = this.#durable = revision;
      this.#known.forget();
      this.#unhealthy = this.#unresolved = undefined;
      if (unresolved?.lastRevision === revision) this.#hub.publish(unresolved.batch.sets);
    });
    over.catch(() => undefined);
    this.#unhealthy = { since, over };
  }

  async #compactTo(revision: Revision): Promise<void> {
    while (this.#compacted < revision) {
      this.#refuseIfClosed();
      if (this.#unhealthy !== undefined) throw unavailable(this.#unhealthy.since);
      this.#isCompacting = true;
      try {
        await this.#compactSlice(revision);
      } finally {
        this.#isCompacting = false;
        this.#pump();
      }
      // Writers get a batch in between, however long the history is.
      if (this.#inFlight !== undefined) await this.#nextIdle();
    }
  }

  async #compactSlice(revision: Revision): Promise<void> {
    while (this.#inFlight !== undefined || this.#forming.transactions > 0) {
      this.#send();
      await this.#nextIdle();
    }
    if (this.#unhealthy !== undefined) throw unavailable(this.#unhealthy.since);
    const reply = await this.files.writer.compact(revision);
    if (reply.kind === 'compacted') {
      this.#compacted = asRevision(reply.revision);
      this.files.refresh();
      this.#known.compacted(this.#compacted);
      return;
    }
    if (reply.kind === 'full') throw new BerthError('StoreFull', reply.message);
    const failure = new Error(reply.message);
    this.#becomeUnhealthy(failure);
    throw unavailable(failure);
  }

  #hasWork(): boolean {
    return (
      this.#inFlight !== undefined ||
      this.#forming.transactions > 0 ||
      this.#queue.size > 0 ||
      this.#isCompacting
    );
  }

  /** Resolves when a batch or a slice has ended, whatever it was. */
  #nextIdle(): Promise<void> {
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  #wakeIdleWaiters(): void {
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const wake of waiters) wake();
  }

  #refuseIfClosed(): void {
    if (this.#closing !== undefined) throw storeClosed();
  }
}

function unavailable(cause: Error): BerthError {
  if (isBerthError(cause, 'StoreUnavailable')) return cause;
  return new BerthError(
    'StoreUnavailable',
    `the store takes no writes until it is healthy again: ${cause.message}`,
    { cause },
  );
}
