import type {
  ChangeSet,
  KeyRange,
  ReadOptions,
  ReadResult,
  Revision,
  Store,
  Transaction,
  TransactOutcome,
  Watch,
  WatchOptions,
} from '../store/contract.js';

/** A store whose transactions a test may answer itself, and whose watches it may hold back. */
export class ScriptedStore implements Store {
  /** Called for each transaction instead of the store. */
  script:
    | ((transaction: Transaction, send: () => Promise<TransactOutcome>) => Promise<TransactOutcome>)
    | undefined;
  underWay = 0;
  underWayMost = 0;
  #held: Promise<void> | undefined;
  #letGo: (() => void) | undefined;

  constructor(readonly inner: Store) {}

  /** From now on no watch delivers anything, until `deliver`. */
  holdBack(): void {
    this.#held = new Promise((resolve) => {
      this.#letGo = resolve;
    });
  }

  deliver(): void {
    this.#letGo?.();
    this.#held = undefined;
  }

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    const send = (): Promise<TransactOutcome> => this.inner.transact(transaction);
    this.underWay += 1;
    this.underWayMost = Math.max(this.underWayMost, this.underWay);
    try {
      return await (this.script === undefined ? send() : this.script(transaction, send));
    } finally {
      this.underWay -= 1;
    }
  }

  read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    return this.inner.read(range, options);
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    const watch = this.inner.watch(range, options);
    type Turn = IteratorResult<readonly ChangeSet[], undefined>;
    const held: Watch = {
      next: async (): Promise<Turn> => {
        const turn = await watch.next();
        while (this.#held !== undefined) await this.#held;
        return turn;
      },
      return: () => watch.return(),
      [Symbol.asyncIterator]: () => held,
    };
    return held;
  }

  compact(revision: Revision): Promise<void> {
    return this.inner.compact(revision);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
