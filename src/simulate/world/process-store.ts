import { checkTransaction } from '../../store/check-transaction.js';
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
} from '../../store/contract.js';
import type { Env } from '../../env/env.js';
import { unavailable } from '../faulty-store.js';
import { FaultyWatch } from '../faulty-watch.js';
import type { Faults } from './faults.js';
import type { Life } from './sim-process.js';

/** The store of the world, as one that can be told who calls. */
export interface SharedStore {
  readonly store: Store;
  transact(transaction: Transaction, by: string): Promise<TransactOutcome>;
  /** Told of every transaction that a process tries, whatever becomes of it. */
  onAttempt(): void;
  /** What a scenario lets become of this one transaction; undefined: nothing special. */
  directed(transaction: Transaction): 'store.requestLost' | 'store.replyLost' | undefined;
}

/** The state of the way between a process and the store. */
export interface StoreWay {
  /** Cut off: nothing comes through in either direction. */
  readonly isCut: () => boolean;
  /** Watches deliver nothing. */
  readonly isWatchHeld: () => boolean;
  /** How often all watches were cut. */
  readonly watchCuts: () => number;
}

const latencyMsMax = 12;
const timeoutMs = 1_000;
const lagMsMax = 4_000;

/**
 * The store as one life of a process sees it: behind a network that delays and loses, and gone when the process
 * crashes, also between a write and its answer. It adds faults that the contract of the store allows, and no others.
 */
export class ProcessStore implements Store {
  constructor(
    private readonly shared: SharedStore,
    private readonly life: Life,
    private readonly faults: Faults,
    /** The wire: what is on it arrives although its sender has crashed. */
    private readonly wire: Env,
    private readonly way: StoreWay,
  ) {}

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    await this.#delay();
    if (this.way.isCut() || this.#strikes('store.unavailable')) throw unavailable();
    const result = await this.life.whileAlive(this.shared.store.read(range, options));
    await this.#delay();
    return result;
  }

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    checkTransaction(transaction);
    const by = this.life.member.name;
    this.shared.onAttempt();
    if (this.#strikes('store.unavailable')) throw unavailable();
    if (this.#strikes('store.crashBefore')) return this.#crash();
    if (this.way.isCut()) return this.#timeOut('the store cannot be reached');
    const directed = this.shared.directed(transaction);
    if (directed !== undefined) this.faults.count(directed);
    if (directed === 'store.requestLost' || this.#strikes('store.requestLost'))
      return this.#timeOut('the request was lost');
    if (this.#strikes('store.requestLate')) {
      const lateMs = timeoutMs + this.life.env.random.integer(timeoutMs);
      // Whatever becomes of it, nobody is left to be told.
      this.wire.after(lateMs, () => void this.shared.transact(transaction, by).catch(() => undefined));
      return this.#timeOut('the request is late');
    }
    await this.#delay();
    const outcome = await this.life.whileAlive(this.shared.transact(transaction, by));
    if (this.#strikes('store.crashAfter')) return this.#crash();
    if (this.way.isCut() || directed === 'store.replyLost' || this.#strikes('store.replyLost'))
      return this.#timeOut('the reply was lost');
    await this.#delay();
    return outcome;
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    const watch = this.shared.store.watch(range, options);
    const cuts = this.way.watchCuts();
    const isCut = (): boolean => this.way.watchCuts() !== cuts || this.#strikes('watch.cut');
    return new FaultyWatch(
      { next: () => this.life.whileAlive(watch.next()), return: () => watch.return() },
      options.after,
      { delay: () => this.#watchDelay(), isCut },
    );
  }

  async compact(revision: Revision): Promise<void> {
    await this.#delay();
    await this.life.whileAlive(this.shared.store.compact(revision));
  }

  /** The process lets go of the store; the store itself belongs to the world. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  #strikes(kind: Parameters<Faults['strikes']>[0]): boolean {
    return this.faults.strikes(kind, this.life.env.random);
  }

  #crash(): Promise<never> {
    this.life.member.crash();
    return new Promise(() => undefined);
  }

  async #timeOut(why: string): Promise<TransactOutcome> {
    await this.life.env.sleep(timeoutMs);
    return { kind: 'UnknownOutcome', cause: new Error(why) };
  }

  async #watchDelay(): Promise<void> {
    const { env } = this.life;
    await this.#delay();
    if (this.#strikes('watch.lag')) await env.sleep(env.random.integer(lagMsMax));
    while (this.way.isCut() || this.way.isWatchHeld()) await env.sleep(100);
  }

  #delay(): Promise<void> {
    return this.life.env.sleep(1 + this.life.env.random.integer(latencyMsMax));
  }
}
