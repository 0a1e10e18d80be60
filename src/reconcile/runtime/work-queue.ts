import { type Backoff, backoffAfter } from '../../env/backoff.js';
import type { Env, Timer } from '../../env/env.js';
import { EventHeap, type HeapEvent } from '../../env/event-heap.js';
import { msBetween, type MonotonicInstant } from '../../env/instant.js';
import { Fifo } from '../../env/fifo.js';
import type { Requeue } from './requeue.js';
import { type Rate, TokenBucket } from '../../env/token-bucket.js';

export interface WorkQueueOptions {
  /** Tenants take turns; keys that belong to no tenant share one turn under ''. */
  readonly tenantOf: (key: string) => string;
  readonly rate: Rate;
  readonly backoff: Backoff;
  /** How many distinct keys it holds. Further ones are refused, and `add` says so: list again when there is room. */
  readonly keysMax: number;
}

interface Item {
  readonly key: string;
  readonly tenant: string;
  state: 'ready' | 'waiting' | 'working';
  /** Waiting: when it becomes ready. Working: when it runs again although it is being worked on; undefined: not. */
  dueMs: number | undefined;
  readyAtMs: number;
  failures: number;
}

interface Due extends HeapEvent {
  readonly item: Item;
}

// Timers cannot be longer; a later due time takes several.
const timerMsMax = 3_600_000;
const staleDuesMin = 1_000;

/**
 * Keys that have to be looked at, each once however often it was added.
 *
 * Invariants: a key is in exactly one of three states. Ready keys are in the list of their tenant, and a tenant
 * is in `#turns` exactly while that list is not empty. A key that is being worked on is in no list: added
 * meanwhile, it gets a due time and waits for `finish`, so that two workers never have the same key.
 */
export class WorkQueue {
  readonly #items = new Map<string, Item>();
  readonly #readyOf = new Map<string, Fifo<Item>>();
  readonly #turns = new Fifo<string>();
  readonly #dues = new EventHeap<Due>();
  readonly #takers = new Fifo<(key: string | undefined) => void>();
  readonly #bucket: TokenBucket;
  readonly #startedAt: MonotonicInstant;
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined;
  #sequence = 0;
  #ready = 0;
  #waiting = 0;
  #retries = 0;
  #isClosed = false;

  constructor(
    private readonly env: Env,
    private readonly options: WorkQueueOptions,
  ) {
    this.#startedAt = env.clock.monotonic();
    this.#bucket = new TokenBucket(options.rate, 0);
  }

  /** How many distinct keys there are, worked on or not. */
  get size(): number {
    return this.#items.size;
  }

  get counts(): { readonly ready: number; readonly waiting: number; readonly retries: number } {
    return { ready: this.#ready, waiting: this.#waiting, retries: this.#retries };
  }

  /** How long the key that has been ready longest has been so; 0 if none is. */
  get oldestReadyMs(): number {
    const nowMs = this.#nowMs();
    let oldestMs = 0;
    for (const tenant of this.#turns) {
      const first = this.#readyOf.get(tenant)?.peek();
      if (first !== undefined) oldestMs = Math.max(oldestMs, nowMs - first.readyAtMs);
    }
    return oldestMs;
  }

  /** Has the key looked at as soon as its turn comes. False: the queue is full or closed and the key is not in it. */
  add(key: string): boolean {
    return this.addAfter(key, 0);
  }

  /** The same, that much later. Of two times for one key the earlier one counts. */
  addAfter(key: string, ms: number): boolean {
    if (this.#isClosed) return false;
    const known = this.#items.get(key);
    if (known === undefined) {
      if (this.#items.size >= this.options.keysMax) return false;
      // Written out: a spread would give each of very many keys a table of fields of its own.
      const item: Item = {
        key,
        tenant: this.options.tenantOf(key),
        state: 'working',
        dueMs: undefined,
        readyAtMs: 0,
        failures: 0,
      };
      this.#items.set(key, item);
      this.#put(item, this.#nowMs() + ms);
      return true;
    }
    const dueMs = this.#nowMs() + ms;
    if (known.state === 'ready' || (known.dueMs !== undefined && known.dueMs <= dueMs)) return true;
    if (known.state === 'working') known.dueMs = dueMs;
    else {
      this.#waiting -= 1;
      this.#put(known, dueMs);
    }
    return true;
  }

  /** The next key to work on; whoever gets it must `finish` it. Undefined: the queue was closed. */
  take(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#dispatch();
    });
  }

  finish(key: string, requeue: Requeue): void {
    const item = this.#items.get(key);
    if (item?.state !== 'working') throw new Error(`finish: nobody is working on ${key}`);
    const nowMs = this.#nowMs();
    let dueMs = item.dueMs ?? Number.POSITIVE_INFINITY;
    item.dueMs = undefined;
    if (requeue.kind === 'again') {
      item.failures += 1;
      this.#retries += 1;
      dueMs = Math.min(dueMs, nowMs + backoffAfter(this.options.backoff, item.failures, this.env.random));
    } else {
      item.failures = 0;
      if (requeue.kind === 'after') dueMs = Math.min(dueMs, nowMs + requeue.ms);
    }
    if (dueMs === Number.POSITIVE_INFINITY || this.#isClosed) this.#items.delete(key);
    else this.#put(item, dueMs);
  }

  /** Gives out nothing more. Who waits for a key gets none; keys that are being worked on may be finished. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.timer.cancel();
    for (let taker = this.#takers.shift(); taker !== undefined; taker = this.#takers.shift())
      taker(undefined);
  }

  #nowMs(): number {
    return msBetween(this.#startedAt, this.env.clock.monotonic());
  }

  #put(item: Item, dueMs: number): void {
    if (dueMs <= this.#nowMs()) this.#makeReady(item);
    else {
      item.state = 'waiting';
      item.dueMs = dueMs;
      this.#waiting += 1;
      this.#dues.push({ atMs: dueMs, tiebreak: 0, sequence: this.#sequence++, item });
      // Every key has at most one due time that counts; the others are passed over, and dropped when there are many.
      if (this.#dues.size > staleDuesMin && this.#dues.size > 2 * this.#waiting)
        this.#dues.prune((due) => !isCurrent(due));
    }
    this.#dispatch();
  }

  #makeReady(item: Item): void {
    item.state = 'ready';
    item.dueMs = undefined;
    item.readyAtMs = this.#nowMs();
    this.#ready += 1;
    const list = this.#readyOf.get(item.tenant);
    if (list !== undefined) list.push(item);
    else {
      const own = new Fifo<Item>();
      own.push(item);
      this.#readyOf.set(item.tenant, own);
      this.#turns.push(item.tenant);
    }
  }

  #dispatch(): void {
    if (this.#isClosed) return;
    const nowMs = this.#nowMs();
    this.#wakeDue(nowMs);
    while (this.#takers.size > 0 && this.#ready > 0 && this.#bucket.take(nowMs)) {
      const item = this.#nextInTurn();
      item.state = 'working';
      this.#ready -= 1;
      this.#takers.shift()?.(item.key);
    }
    this.#setTimer(nowMs);
  }

  #nextInTurn(): Item {
    const tenant = this.#turns.shift();
    const list = this.#readyOf.get(tenant ?? '');
    const item = list?.shift();
    if (tenant === undefined || list === undefined || item === undefined)
      throw new Error('a tenant in turn has no key');
    if (list.size > 0) this.#turns.push(tenant);
    else this.#readyOf.delete(tenant);
    return item;
  }

  #wakeDue(nowMs: number): void {
    for (let due = this.#dues.peek(); due !== undefined; due = this.#dues.peek()) {
      if (isCurrent(due) && due.atMs > nowMs) return;
      this.#dues.pop();
      if (!isCurrent(due)) continue;
      this.#waiting -= 1;
      this.#makeReady(due.item);
    }
  }

  /** One timer for whatever is next: a key becomes due, or a token comes for somebody who waits. */
  #setTimer(nowMs: number): void {
    const isWaitingForToken = this.#takers.size > 0 && this.#ready > 0;
    const tokenMs = isWaitingForToken ? nowMs + this.#bucket.msUntilNext(nowMs) : Number.POSITIVE_INFINITY;
    const atMs = Math.min(tokenMs, this.#dues.peek()?.atMs ?? Number.POSITIVE_INFINITY);
    if (this.#timer?.atMs === atMs) return;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const timer = this.env.after(Math.min(timerMsMax, Math.max(0, atMs - nowMs)), () => {
      this.#timer = undefined;
      this.#dispatch();
    });
    this.#timer = { atMs, timer };
  }
}

const isCurrent = ({ item, atMs }: Due): boolean => item.state === 'waiting' && item.dueMs === atMs;
