import { BerthError } from '../model/errors.js';
import {
  type Change,
  type ChangeSet,
  type Revision,
  type Watch,
  watchBufferBytesMax,
  watchBufferChangesMax,
  type WatchOptions,
} from './contract.js';

type Turn<C> = IteratorResult<readonly ChangeSet<C>[], undefined>;
interface Waiter<C> {
  readonly resolve: (turn: Turn<C>) => void;
  readonly reject: (error: Error) => void;
}

const finished = { done: true, value: undefined } as const;

/** What a change of a key holds on to while it waits. */
export const changeBytes = (change: Change): number =>
  change.kind === 'put' ? change.entry.value.byteLength : 0;

/**
 * The reader's end of every watch: change sets go in as they happen and come out when the reader asks.
 *
 * Invariants: at most one of `#waiter` and a non-empty `#sets` exists at a time. At most `#changesMax` changes
 * wait; past that all of them are dropped and the reader is told (SlowWatcher). Sets whose revision is not
 * above `#position` are repetitions and are ignored, so a source may replay after a reconnect.
 */
export class WatchBuffer<C> implements Watch<C> {
  #sets: ChangeSet<C>[] = [];
  #changes = 0;
  #bytes = 0;
  #position: Revision;
  #delivered: Revision;
  #waiter: Waiter<C> | undefined;
  #ended: { readonly error: Error | undefined } | undefined;
  readonly #changesMax: number;
  readonly #signal: AbortSignal | undefined;
  readonly #bytesOf: (change: C) => number;
  readonly #onEnd: () => void;

  /** `onEnd` is called once, when the watch ends for whatever reason; never for one that is born ended. */
  constructor(options: WatchOptions, bytesOf: (change: C) => number, onEnd: () => void) {
    this.#bytesOf = bytesOf;
    this.#position = options.after;
    this.#delivered = options.after;
    this.#changesMax = options.bufferChangesMax ?? watchBufferChangesMax;
    if (!Number.isSafeInteger(this.#changesMax) || this.#changesMax < 1) {
      throw new RangeError(`bufferChangesMax ${this.#changesMax}: allowed is a whole number from 1`);
    }
    this.#signal = options.signal;
    this.#onEnd = onEnd;
    if (options.signal?.aborted) this.#ended = { error: undefined };
    else options.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** The last revision that was put in, delivered or not. */
  get position(): Revision {
    return this.#position;
  }

  /** The last revision that the reader has taken. */
  get delivered(): Revision {
    return this.#delivered;
  }

  /** Whether something waits for the reader. */
  get isWaiting(): boolean {
    return this.#sets.length > 0;
  }

  get waitingChanges(): number {
    return this.#changes;
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** What a watcher starts with. It comes from memory that is bounded elsewhere, so it does not count as waiting. */
  prime(sets: readonly ChangeSet<C>[]): void {
    const last = sets.at(-1);
    if (last === undefined || this.#ended !== undefined) return;
    this.#sets.push(...sets);
    this.#position = last.revision;
  }

  /** Puts in what happened since the last call, in revision order. */
  push(sets: readonly ChangeSet<C>[]): void {
    if (this.#ended !== undefined) return;
    const fresh =
      sets.length > 0 && (sets[0] as ChangeSet<C>).revision > this.#position ? sets : this.#above(sets);
    const last = fresh.at(-1);
    if (last === undefined) return;
    this.#position = last.revision;
    if (this.#waiter !== undefined) {
      const waiter = this.#waiter;
      this.#waiter = undefined;
      this.#delivered = last.revision;
      waiter.resolve({ done: false, value: fresh });
      return;
    }
    for (const set of fresh) {
      this.#changes += set.changes.length;
      for (const change of set.changes) this.#bytes += this.#bytesOf(change);
      this.#sets.push(set);
    }
    if (this.#changes > this.#changesMax || this.#bytes > watchBufferBytesMax) {
      this.#sets = [];
      this.end(
        new BerthError(
          'SlowWatcher',
          `the watcher left ${this.#changes} changes of ${this.#bytes} bytes waiting, ${this.#changesMax} and ` +
            `${watchBufferBytesMax} are allowed; watch again after ${this.#delivered}`,
          { details: { resumeAfter: this.#delivered } },
        ),
      );
    }
  }

  /** Ends the watch after what is still buffered: quietly, or with the error that the reader must know. */
  end(error?: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = { error };
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#onEnd();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter === undefined) return;
    if (error === undefined) waiter.resolve(finished);
    else waiter.reject(error);
  }

  next(): Promise<Turn<C>> {
    if (this.#sets.length > 0) {
      const value = this.#sets;
      this.#sets = [];
      this.#changes = 0;
      this.#bytes = 0;
      this.#delivered = (value.at(-1) as ChangeSet<C>).revision;
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended !== undefined) {
      const { error } = this.#ended;
      // An error is told once; whoever asks again finds the watch over.
      this.#ended = { error: undefined };
      return error === undefined ? Promise.resolve(finished) : Promise.reject(error);
    }
    if (this.#waiter !== undefined) {
      return Promise.reject(
        new Error('a watch has one reader: next() was called before the last one settled'),
      );
    }
    return new Promise<Turn<C>>((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  return(): Promise<Turn<C>> {
    this.#abort();
    return Promise.resolve(finished);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // Whoever cancels wants nothing more, not even what is buffered.
  readonly #abort = (): void => {
    this.#sets = [];
    this.end();
  };

  #above(sets: readonly ChangeSet<C>[]): readonly ChangeSet<C>[] {
    return sets.filter((set) => set.revision > this.#position);
  }
}
