/**
 * The store contract: ordered keys, byte values, one global revision. Everything above this folder knows
 * only what is written here, and one suite (contract.test.ts) holds every backend to it.
 *
 * Invariants that every backend keeps:
 * - The revision grows by at least one with every transaction that changes something, and never otherwise
 *   goes anywhere. A transaction that changes nothing (no writes, or deletes of absent keys only) returns the
 *   revision it saw.
 * - A transaction is applied whole or not at all, at most once. A backend never sends one a second time.
 * - What is acknowledged, read or watched is durable.
 * - `read` without a revision sees every transaction that was acknowledged before it was called.
 * - A watch yields each change in its range with a revision above `after` exactly once, in revision order,
 *   all changes of one transaction together.
 */

declare const revisionBrand: unique symbol;
/** A point in a store's history. Numbers of two stores must not be compared. */
export type Revision = number & { readonly [revisionBrand]: true };
// Read from eight bytes it is a double in a box of its own; made a small integer, as it is for the first two billion,
// it takes no memory of its own wherever it is kept.
export const asRevision = (value: number): Revision =>
  ((value | 0) === value ? value | 0 : value) as Revision;

/** One key and its current value. Values belong to the store: they are read, never written into. */
export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision at which the key last came into being. */
  readonly createRevision: Revision;
  /** The revision of the last change. */
  readonly modRevision: Revision;
}

/** All keys `k` with `from <= k < to`, in byte order. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

export interface ReadOptions {
  /** At most this many entries; `readEntriesMax` when not given, and never more than that. */
  readonly limit?: number;
  /** A past revision, from 1. Refused with Expired once it is compacted and FutureRevision while it has not happened. */
  readonly revision?: Revision;
}

export interface ReadResult {
  readonly entries: readonly Entry[];
  /** The revision the entries were read at. */
  readonly revision: Revision;
  /** Whether the range holds entries past the last one returned. */
  readonly more: boolean;
}

export type Guard =
  | { readonly kind: 'unchanged'; readonly key: string; readonly modRevision: Revision }
  | { readonly kind: 'absent'; readonly key: string }
  | { readonly kind: 'value'; readonly key: string; readonly value: Uint8Array };

/** The bytes of a value belong to the store from the call on: whoever wrote them must not change them any more. */
export type Write =
  | { readonly kind: 'put'; readonly key: string; readonly value: Uint8Array }
  | { readonly kind: 'delete'; readonly key: string };

export interface Transaction {
  readonly guards: readonly Guard[];
  readonly writes: readonly Write[];
}

/** A guard that did not hold, with what stood there instead, so that the caller can try again without a read. */
export interface FailedGuard {
  readonly guard: Guard;
  readonly current: Entry | undefined;
}

export type TransactOutcome =
  | { readonly kind: 'Committed'; readonly revision: Revision }
  | { readonly kind: 'GuardFailed'; readonly revision: Revision; readonly failed: readonly FailedGuard[] }
  /** It may have been applied, it may still be applied, or never. Only reading back can tell. */
  | { readonly kind: 'UnknownOutcome'; readonly cause: Error };

export type Change =
  | { readonly kind: 'put'; readonly entry: Entry }
  | { readonly kind: 'delete'; readonly key: string };

/** What one transaction changed in a watched range. */
export interface ChangeSet<C = Change> {
  readonly revision: Revision;
  readonly changes: readonly C[];
}

export interface WatchOptions {
  /** The last revision the watcher already knows. May lie in the future. */
  readonly after: Revision;
  /** Ends the watch quietly. Leaving the loop does the same. */
  readonly signal?: AbortSignal;
  /**
   * How many changes may wait for the reader; `watchBufferChangesMax` when not given. Past that the buffer is
   * dropped and the watch ends with SlowWatcher, which names the revision to resume after. The same happens
   * past `watchBufferBytesMax` bytes of values. A transaction larger than the whole buffer is still delivered
   * when the reader is waiting for it.
   */
  readonly bufferChangesMax?: number;
}

/**
 * Yields whatever has arrived since the last turn: a non-empty list of change sets. Ends with an error when
 * it cannot go on without a gap: Expired (the history was compacted away: list again; the detail `historyBeginsAt` is
 * the earliest revision to watch after), SlowWatcher (watch again), StoreClosed.
 */
export interface Watch<C = Change> {
  next(): Promise<IteratorResult<readonly ChangeSet<C>[], undefined>>;
  /** Ends the watch quietly, as leaving a `for await` loop does. */
  return(value?: undefined): Promise<IteratorResult<readonly ChangeSet<C>[], undefined>>;
  [Symbol.asyncIterator](): Watch<C>;
}

export interface Store {
  read(range: KeyRange, options?: ReadOptions): Promise<ReadResult>;
  /**
   * Answers with an outcome whenever the transaction may have been applied. A thrown BerthError means for
   * certain that it was not.
   */
  transact(transaction: Transaction): Promise<TransactOutcome>;
  watch(range: KeyRange, options: WatchOptions): Watch;
  /** Forgets history before `revision`: reads at it and watches after it still work, older ones are Expired. */
  compact(revision: Revision): Promise<void>;
  /** Finishes what was accepted, ends watches, and frees what the store holds. */
  close(): Promise<void>;
}

// The smallest of what the backends take, so that what works on one works on all. The first two are etcd's
// default --max-txn-ops; the third stays below its default --max-request-bytes. It counts what etcd is sent:
// values, keys (those of guards twice, because they are sent again to be read if one fails) and their framing.
export const guardsMax = 128;
export const writesMax = 128;
export const transactionBytesMax = 1_500_000;
export const framingBytesPerKey = 100;
export const keyBytesMax = 1_000;
export const readEntriesMax = 10_000;
export const watchBufferChangesMax = 10_000;
export const watchBufferBytesMax = 64 * 1024 * 1024;
