import type { Revision } from '../store/contract.js';

/**
 * What one operation reads and writes. Every read becomes a guard of the transaction that carries the operation:
 * what was decided on is still so when it is committed, without each operation having to say it.
 */
export interface Draft {
  /** The value under a key, undefined if there is none. Guarded. Must not be changed. */
  read(key: string): unknown;
  /**
   * A value that never changes once it is there (a WorkloadRevision): guarded only if it is not there, because
   * then our view may merely be behind.
   */
  readImmutable(key: string): unknown;
  /** A value that is not decided on. Never guarded. */
  peek(key: string): unknown;
  /**
   * A value that stays as it is for as long as what stands under `by`, which was read. Not guarded, since `by` is;
   * guarded all the same where `by` is only just being written and its guard is by value, which may come again.
   */
  readCovered(key: string, by: string): unknown;
  /** The resourceVersion at which a key last changed. Guarded. 0 if it is not there. */
  versionOf(key: string): number;
  /** The resourceVersion at which a key came into being. */
  createdVersionOf(key: string): number;
  /** The resourceVersion of the view, for people to read. */
  readonly version: string;
  put(key: string, value: unknown): void;
  delete(key: string): void;
}

/** What a view knows of a key. Looked at while a transaction is formed and not kept: it may change afterwards. */
export interface Seen {
  /** Undefined: it is not there. */
  readonly value: unknown;
  /** Of the last change; undefined while the write that made it is still under way. */
  readonly revision: Revision | undefined;
  readonly createRevision: Revision | undefined;
}

export const isInFlight = (seen: Seen): boolean => seen.revision === undefined;

/** What the drafts of a transaction look at. */
export interface View {
  see(key: string): Seen;
  readonly version: string;
  versionOf(revision: Revision): number;
}

/** Thrown by a draft when an operation can only be decided once the transactions under way have ended. */
export const deferred = new Error('decide this again when the transactions under way have ended');

/** A key that a transaction in the making has to do with. */
export class Touched {
  isGuarded = false;
  isWritten = false;
  value: unknown;
  // The last members that read and wrote it, by their number in the batch; marks instead of sets, because this is the
  // hot path.
  reader = 0;
  writer = 0;
  draftValue: unknown = undefined;

  constructor(
    readonly key: string,
    readonly seen: Seen,
  ) {
    this.value = seen.value;
  }
}

/** One transaction in the making: its members are decided one after the other, each on top of those before it. */
export class BatchDraft {
  readonly touched = new Map<string, Touched>();
  guards = 0;
  writes = 0;

  constructor(
    private readonly view: View,
    /** Whether members may build on writes that are still under way in another transaction. */
    private readonly mayChain: boolean,
  ) {}

  get version(): string {
    return this.view.version;
  }

  versionOf(revision: Revision): number {
    return this.view.versionOf(revision);
  }

  touch(key: string): Touched {
    let touched = this.touched.get(key);
    if (touched === undefined) {
      const seen = this.view.see(key);
      if (isInFlight(seen) && !this.mayChain) throw deferred;
      touched = new Touched(key, seen);
      this.touched.set(key, touched);
    }
    return touched;
  }

  /**
   * Takes in what a member read and, if it commits, wrote; false if the transaction has no room for it. A member that
   * was rejected is taken in too: its rejection is as true as its reads are.
   */
  take(member: MemberDraft, isCommit: boolean, guardsMax: number, writesMax: number): boolean {
    let { guards, writes } = this;
    // What this transaction has written before was read then, or is not decided on.
    for (const touched of member.reads) if (!touched.isGuarded && !touched.isWritten) guards += 1;
    const written = isCommit ? member.written : [];
    for (const touched of written) {
      if (!touched.isWritten) writes += 1;
      // What was deleted and comes again is another thing: in one transaction the store would take it for a change
      // of the old one, and its revision of creation, which is a fence, would be the old one's.
      else if (
        touched.draftValue !== undefined &&
        touched.value === undefined &&
        touched.seen.value !== undefined
      )
        return false;
    }
    if (guards > guardsMax || writes > writesMax) return false;
    for (const touched of member.reads) if (!touched.isWritten) touched.isGuarded = true;
    for (const touched of written) {
      touched.isWritten = true;
      touched.value = touched.draftValue;
    }
    this.guards = guards;
    this.writes = writes;
    return true;
  }
}

/** The draft of one member after the other: what the last one did is forgotten when the next begins. */
export class MemberDraft implements Draft {
  readonly reads: Touched[] = [];
  readonly written: Touched[] = [];
  // Of the member that is being decided, from 1.
  #number = 0;

  constructor(private readonly batch: BatchDraft) {}

  begin(): this {
    this.#number += 1;
    this.reads.length = this.written.length = 0;
    return this;
  }

  get version(): string {
    return this.batch.version;
  }

  read(key: string): unknown {
    const touched = this.batch.touch(key);
    if (touched.writer === this.#number) return touched.draftValue;
    this.#reads(touched);
    return touched.value;
  }

  readImmutable(key: string): unknown {
    const value = this.peek(key);
    return value === undefined ? this.read(key) : value;
  }

  peek(key: string): unknown {
    const touched = this.batch.touch(key);
    return touched.writer === this.#number ? touched.draftValue : touched.value;
  }

  readCovered(key: string, by: string): unknown {
    return isInFlight(this.batch.touch(by).seen) ? this.read(key) : this.peek(key);
  }

  versionOf(key: string): number {
    const touched = this.batch.touch(key);
    this.#reads(touched);
    const { value, revision } = touched.seen;
    if (touched.isWritten || revision === undefined) throw deferred;
    return value === undefined ? 0 : this.batch.versionOf(revision);
  }

  createdVersionOf(key: string): number {
    const { seen } = this.batch.touch(key);
    if (seen.createRevision === undefined || seen.value === undefined) throw deferred;
    return this.batch.versionOf(seen.createRevision);
  }

  put(key: string, value: unknown): void {
    const touched = this.batch.touch(key);
    if (touched.writer !== this.#number) {
      touched.writer = this.#number;
      this.written.push(touched);
    }
    touched.draftValue = value;
  }

  delete(key: string): void {
    this.put(key, undefined);
  }

  #reads(touched: Touched): void {
    if (touched.reader === this.#number) return;
    touched.reader = this.#number;
    this.reads.push(touched);
  }
}
