import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { FaultyWatch } from './faulty-watch.js';
import { checkTransaction } from '../store/check-transaction.js';
import type {
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

/** What a network and a busy server may do to one process's calls. Probabilities per call; times in milliseconds. */
export interface StoreFaults {
  readonly latencyMsMax: number;
  readonly timeoutMs: number;
  /** A read that fails, or a transaction that is certain not to have been sent. */
  readonly unavailable: number;
  /** The request never arrives. */
  readonly requestLost: number;
  /** The request arrives, and is applied, after its sender has given up. */
  readonly requestLate: number;
  /** It is applied; the sender never hears of it. */
  readonly replyLost: number;
  /** A watch ends and has to be resumed. */
  readonly watchCut: number;
}

/** A store as one simulated process sees it. It adds faults that the contract allows, and no others. */
export class FaultyStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly env: Env,
    private readonly faults: StoreFaults,
  ) {}

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    await this.#delay();
    if (this.env.random.chance(this.faults.unavailable)) throw unavailable();
    const result = await this.store.read(range, options);
    await this.#delay();
    return result;
  }

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    const { random } = this.env;
    checkTransaction(transaction);
    if (random.chance(this.faults.unavailable)) throw unavailable();
    if (random.chance(this.faults.requestLost)) return this.#timeOut('the request was lost');
    if (random.chance(this.faults.requestLate)) {
      const lateMs = this.faults.timeoutMs + random.integer(this.faults.timeoutMs);
      // Whatever becomes of it, nobody is left to be told.
      this.env.after(lateMs, () => void this.store.transact(transaction).catch(() => undefined));
      return this.#timeOut('the request is late');
    }
    await this.#delay();
    const outcome = await this.store.transact(transaction);
    if (random.chance(this.faults.replyLost)) return this.#timeOut('the reply was lost');
    await this.#delay();
    return outcome;
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    return new FaultyWatch(this.store.watch(range, options), options.after, {
      delay: () => this.#delay(),
      isCut: () => this.env.random.chance(this.faults.watchCut),
    });
  }

  async compact(revision: Revision): Promise<void> {
    await this.#delay();
    await this.store.compact(revision);
  }

  /** The process lets go of the store; the store itself belongs to the world. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #timeOut(why: string): Promise<TransactOutcome> {
    await this.env.sleep(this.faults.timeoutMs);
    return { kind: 'UnknownOutcome', cause: new Error(why) };
  }

  #delay(): Promise<void> {
    return this.env.sleep(this.env.random.integer(this.faults.latencyMsMax + 1));
  }
}

export const unavailable = (): BerthError =>
  new BerthError('StoreUnavailable', 'the store did not answer in time to send anything');
