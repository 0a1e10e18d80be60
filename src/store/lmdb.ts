import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { futureRevision, readLimit } from './check-read.js';
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
import { lockDirectory } from './directory-lock.js';
import { failedGuards } from './guards.js';
import { type Answer, LmdbBatch } from './lmdb-batch.js';
import type { LmdbSync } from './lmdb-environment.js';
import { liveEntry, type Version } from './lmdb-layout.js';
import { LmdbReader } from './lmdb-reader.js';
import { LmdbWriterThread } from './lmdb-writer-thread.js';
import { WatchHub } from './watch-hub.js';

export interface LmdbOptions {
  readonly dir: string;
  readonly env: Env;
  /** `none` gives up durability: for the test that shows what it would cost. */
  readonly sync?: LmdbSync;
}

interface Arrival extends Pick<Answer, 'resolve' | 'reject'> {
  readonly transaction: Transaction;
}

// A batch is closed when it is this large: one flush then takes tens of milliseconds at most.
const batchTransactionsMax = 2_000;
const batchBytesMax = 4 * 1024 * 1024;
// Callers past this many are told to come back: memory stays bounded when the disk is slower than they are.
const waitingTransactionsMax = 20_000;
const recoveryDelayMsMin = 100;
const recoveryDelayMsMax = 5_000;

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
 * - After a commit that lmdb could not confirm, nothing is accepted until a reopened environment has taken a
 *   write, and `#durable` has been read from it again.
 */
export class LmdbStore implements Store {
  #forming = new LmdbBatch();
  #inFlight: LmdbBatch | undefined;
  #arrivals: Arrival[] = [];
  #nextArrival = 0;
  #durable: Revision;
  #newest: Revision;
  #compacted: Revision;
  #isPumpScheduled = false;
  #isCompacting = false;
  #isClosed = false;
  #reader: LmdbReader;
  #writer: LmdbWriterThread;
  #unhealthy: { readonly since: Error; readonly over: Promise<void> } | undefined;
  // Set while the environment is closed and opened again: readers wait for it.
  #reopening: Promise<void> | undefined;
  #idleWaiters: (() => void)[] = [];
  readonly #stopped = new AbortController();
  readonly #hub: WatchHub;

  static async open(options: LmdbOptions): Promise<LmdbStore> {
    mkdirSync(options.dir, { recursive: true, mode: 0o700 });
    const lock = lockDirectory(options.dir);
    try {
      const sync = options.sync ?? 'flush';
      const reader = LmdbReader.open(options.dir, sync);
      const writer = new LmdbWriterThread({ dir: options.dir, sync });
      const store = new LmdbStore(options, lock, reader, writer);
      if (reader.meta() === undefined) await store.#create();
      return store;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  private constructor(
    private readonly options: LmdbOptions,
    private readonly lock: { release(): void },
    reader: LmdbReader,
    writer: LmdbWriterThread,
  ) {
    this.#reader = reader;
    this.#writer = writer;
    const meta = reader.meta();
    this.#durable = this.#newest = meta?.revision ?? asRevision(1);
    this.#compacted = meta?.compacted ?? asRevision(0);
    this.#hub = new WatchHub(
      {
        visibleRevision: () => this.#durable,
        compactedRevision: () => this.#compacted,
        changesAfter: async (after) => {
          await this.#reopening;
          return this.#reader.changesAfter(after, this.#durable);
        },
      },
      options.env,
    );
  }

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    const limit = readLimit(options);
    await this.#reopening;
    this.#refuseIfClosed();
    const revision = options?.revision ?? this.#durable;
    if (revision > this.#durable) throw futureRevision(revision, this.#durable);
    return this.#reader.read(range, limit, revision);
  }

  transact(transaction: Transaction): Promise<TransactOutcome> {
    return new Promise((resolve, reject) => {
      this.#refuseIfClosed();
      checkTransaction(transaction);
      if (this.#unhealthy !== undefined) throw unavailable(this.#unhealthy.since);
      if (this.#arrivals.length - this.#nextArrival >= waitingTransactionsMax) {
        throw new BerthError(
          'StoreOverloaded',
          `${waitingTransactionsMax} transactions are waiting for the disk of ${this.options.dir}`,
        );
      }
      this.#arrivals.push({ transaction, resolve, reject });
      this.#schedulePump();
    });
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    this.#refuseIfClosed();
    return this.#hub.watch(range, options);
  }

  async compact(revision: Revision): Promise<void> {
    await this.#unhealthy?.over;
    this.#refuseIfClosed();
    if (revision > this.#durable) throw futureRevision(revision, this.#durable);
    while (this.#compacted < revision) {
      while (this.#isCompacting) await this.#nextIdle();
      this.#refuseIfClosed();
      this.#isCompacting = true;
      try {
        while (this.#inFlight !== undefined || this.#forming.answers.length > 0) await this.#nextIdle();
        if (this.#unhealthy !== undefined) throw unavailable(this.#unhealthy.since);
        const reply = await this.#writer.request({ kind: 'compact', upTo: revision });
        if (reply.kind === 'compacted') {
          this.#compacted = asRevision(Math.max(this.#compacted, reply.revision));
          this.#reader.refresh();
        } else {
          const failure = new Error(reply.kind === 'done' ? 'unexpected reply' : reply.message);
          if (reply.kind !== 'full') this.#becomeUnhealthy(failure);
          throw unavailable(failure);
        }
      } finally {
        this.#isCompacting = false;
        this.#wakeIdleWaiters();
        this.#schedulePump();
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    while (this.#hasWork() && this.#unhealthy === undefined) await this.#nextIdle();
    this.#stopped.abort(new BerthError('StoreClosed', 'the store was closed'));
    await this.#unhealthy?.over.catch(() => undefined);
    this.#hub.endAll(new BerthError('StoreClosed', 'the store was closed'));
    await this.#writer.close();
    await this.#reader.close();
    this.lock.release();
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
    if (this.#unhealthy !== undefined || this.#isCompacting) {
      // A compaction waits for what was judged before it; only sending goes on.
      if (this.#unhealthy === undefined) this.#send();
      return;
    }
    while (this.#nextArrival < this.#arrivals.length && !this.#isFormingFull()) {
      this.#judge(this.#arrivals[this.#nextArrival++] as Arrival);
    }
    if (this.#nextArrival === this.#arrivals.length) {
      this.#arrivals = [];
      this.#nextArrival = 0;
    }
    this.#send();
  }

  #isFormingFull(): boolean {
    return this.#forming.transactions >= batchTransactionsMax || this.#forming.bytes >= batchBytesMax;
  }

  #judge({ transaction, resolve, reject }: Arrival): void {
    const failed = failedGuards(transaction.guards, this.#newestEntry);
    if (failed.length > 0) {
      this.#answerWhenDurable({
        outcome: { kind: 'GuardFailed', revision: this.#newest, failed },
        wrote: false,
        resolve,
        reject,
      });
      return;
    }
    const revision = asRevision(this.#newest + 1);
    const wrote = this.#forming.add(transaction.writes, revision, this.#compacted, this.#newestVersion);
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

  readonly #newestVersion = (key: string): Version | undefined =>
    this.#forming.overlay.get(key) ?? this.#inFlight?.overlay.get(key) ?? this.#reader.current(key);

  readonly #newestEntry = (key: string): Entry | undefined => liveEntry(key, this.#newestVersion(key));

  // ---- flushing ----------------------------------------------------------------------------------------

  #send(): void {
    if (this.#inFlight !== undefined || this.#forming.transactions === 0) return;
    const batch = this.#forming;
    this.#inFlight = batch;
    this.#forming = new LmdbBatch();
    void this.#flush(batch, this.#newest);
  }

  async #flush(batch: LmdbBatch, lastRevision: Revision): Promise<void> {
    const reply = await this.#writer.request({
      kind: 'write',
      batch: batch.encode(lastRevision, this.#compacted),
    });
    if (reply.kind === 'done') {
      this.#settle(batch, lastRevision);
      this.#pump();
      this.#wakeIdleWaiters();
      return;
    }
    const cause = new Error(reply.kind === 'compacted' ? 'unexpected reply' : reply.message);
    const dropped = this.#dropUnsent();
    this.#inFlight = undefined;
    if (reply.kind === 'full') {
      // Certain: lmdb writes its meta page, which makes a commit real, only after all else is on disk.
      this.#newest = this.#durable;
      for (const answer of batch.answers)
        answer.reject(new BerthError('StoreFull', cause.message, { cause }));
      for (const answer of dropped) answer.reject(new BerthError('StoreFull', cause.message, { cause }));
      this.#schedulePump();
      this.#wakeIdleWaiters();
      return;
    }
    this.#becomeUnhealthy(cause, { batch, lastRevision });
    for (const answer of batch.answers) {
      if (answer.wrote) answer.resolve({ kind: 'UnknownOutcome', cause });
      else answer.reject(unavailable(cause));
    }
    for (const answer of dropped) answer.reject(unavailable(cause));
    this.#wakeIdleWaiters();
  }

  /** A batch is on disk: from here on it can be read, watched and acknowledged. */
  #settle(batch: LmdbBatch, lastRevision: Revision): void {
    this.#durable = lastRevision;
    this.#inFlight = undefined;
    this.#reader.refresh();
    this.#hub.publish(batch.sets);
    for (const answer of batch.answers) answer.resolve(answer.outcome);
  }

  /** Everything that was judged on top of a batch that failed. None of it was ever sent. */
  #dropUnsent(): readonly (Answer | Arrival)[] {
    const dropped = [...this.#forming.answers, ...this.#arrivals.slice(this.#nextArrival)];
    this.#forming = new LmdbBatch();
    this.#arrivals = [];
    this.#nextArrival = 0;
    return dropped;
  }

  // ---- health ------------------------------------------------------------------------------------------

  #becomeUnhealthy(since: Error, pending?: { batch: LmdbBatch; lastRevision: Revision }): void {
    const over = this.#recover(pending);
    over.catch(() => undefined);
    this.#unhealthy = { since, over };
  }

  /** Reopens the environment until it takes a write again, and finds out what became of the last batch. */
  async #recover(pending: { batch: LmdbBatch; lastRevision: Revision } | undefined): Promise<void> {
    const { env, dir } = this.options;
    for (let delayMs = recoveryDelayMsMin; ; delayMs = Math.min(delayMs * 2, recoveryDelayMsMax)) {
      await env.sleep(delayMs, this.#stopped.signal);
      this.#reopening = this.#reopen();
      await this.#reopening;
      const meta = this.#reader.meta();
      if (meta === undefined) throw new BerthError('StoreFormat', `${dir} has lost its meta record`);
      // Rewriting what is there proves that a commit can be flushed, and puts the meta page that may or may
      // not have reached the disk beyond doubt.
      const probe = new LmdbBatch().encode(meta.revision, meta.compacted);
      const reply = await this.#writer.request({ kind: 'write', batch: probe });
      if (reply.kind !== 'done') continue;
      this.#reader.refresh();
      this.#compacted = meta.compacted;
      this.#newest = meta.revision;
      this.#unhealthy = undefined;
      const landed = pending !== undefined && meta.revision === pending.lastRevision;
      this.#durable = meta.revision;
      if (landed) this.#hub.publish(pending.batch.sets);
      this.#schedulePump();
      return;
    }
  }

  async #reopen(): Promise<void> {
    const { dir, sync = 'flush' } = this.options;
    await this.#writer.close();
    await this.#reader.close();
    this.#reader = LmdbReader.open(dir, sync);
    this.#writer = new LmdbWriterThread({ dir, sync });
  }

  // ---- small things ------------------------------------------------------------------------------------

  async #create(): Promise<void> {
    const reply = await this.#writer.request({
      kind: 'write',
      batch: new LmdbBatch().encode(this.#durable, this.#compacted),
    });
    if (reply.kind !== 'done') {
      await this.#writer.close();
      await this.#reader.close();
      throw new BerthError(
        'StoreUnavailable',
        `cannot create a store in ${this.options.dir}: ${JSON.stringify(reply)}`,
      );
    }
    this.#reader.refresh();
    // lmdb syncs its files, not the directory entries that lead to them.
    for (const path of [this.options.dir, dirname(this.options.dir)]) {
      const descriptor = openSync(path, 'r');
      fsyncSync(descriptor);
      closeSync(descriptor);
    }
  }

  #hasWork(): boolean {
    return (
      this.#inFlight !== undefined ||
      this.#forming.answers.length > 0 ||
      this.#arrivals.length > 0 ||
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
    if (this.#isClosed) throw new BerthError('StoreClosed', 'the store was closed');
  }
}

function unavailable(cause: Error): BerthError {
  return new BerthError(
    'StoreUnavailable',
    `the store takes no writes until it is healthy again: ${cause.message}`,
    {
      cause,
    },
  );
}
