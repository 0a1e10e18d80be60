import type { Env } from '../../env/env.js';
import type { ObjectChange, Objects } from '../../model/ports.js';
import { Alarm } from '../../env/alarm.js';
import { again, type Reconciler, type ReportProblem, type Requeue } from './requeue.js';
import { WorkQueue, type WorkQueueOptions } from './work-queue.js';

export interface ControllerParts {
  readonly name: string;
  readonly objects: Pick<Objects, 'follow'>;
  readonly env: Env;
  readonly report: ReportProblem;
  /** The kinds of which a change may concern a key: most changes are of others, and wake nobody here. */
  readonly kinds: ReadonlySet<string>;
  /** The keys that a change concerns. A key it leaves out is found by the next resync. */
  readonly keysOf: (change: ObjectChange) => Iterable<string>;
  /** Every key there is, for the start, for resyncs and after changes may have been missed. */
  readonly listKeys: () => Iterable<string>;
  readonly workers?: number;
  readonly resyncMs?: number;
  readonly queue?: Partial<WorkQueueOptions>;
}

/** What it is doing, for whoever publishes it. Counters only grow, over all its runs. */
export interface ControllerCounters {
  /** Keys that are ready to be looked at. */
  readonly depth: number;
  /** Keys that wait for their time: backoffs and deadlines. */
  readonly waiting: number;
  readonly oldestReadyMs: number;
  readonly runs: number;
  readonly errors: number;
  readonly retries: number;
  readonly resyncs: number;
}

const tenantOf = (key: string): string => {
  const slash = key.indexOf('/');
  return slash === -1 ? '' : key.slice(0, slash);
};

const queueDefaults: WorkQueueOptions = {
  tenantOf,
  rate: { perSecond: 1_000, burst: 1_000 },
  backoff: { firstMs: 100, mostMs: 60_000 },
  keysMax: 1_000_000,
};

// Other work gets a turn between so many keys of a resync.
const keysPerYield = 1_000;

/**
 * Calls a reconciler with keys: those that changes concern, and from time to time all of them.
 *
 * A key that the queue has no room for is not lost: the resync that met the bound goes on from there once half
 * of the queue has been worked off, and a change that met it starts one.
 */
export class Controller {
  #queue: WorkQueue | undefined;
  #runs = 0;
  #errors = 0;
  #retriesBefore = 0;
  #resyncs = 0;
  // Where the resync that is under way goes on. Undefined: none is.
  #resyncFrom: string | undefined;
  // Another one from the beginning is needed after it.
  #isResyncAsked = false;
  readonly #resyncAlarm: Alarm;

  constructor(private readonly parts: ControllerParts) {
    this.#resyncAlarm = new Alarm(parts.env);
  }

  get counters(): ControllerCounters {
    const { ready = 0, waiting = 0, retries = 0 } = this.#queue?.counts ?? {};
    return {
      ...{ depth: ready, waiting, oldestReadyMs: this.#queue?.oldestReadyMs ?? 0 },
      ...{ runs: this.#runs, errors: this.#errors, resyncs: this.#resyncs },
      retries: this.#retriesBefore + retries,
    };
  }

  /** Works with one reconciler until the signal aborts; what is under way then is finished first. */
  async run(reconciler: Reconciler, signal: AbortSignal): Promise<void> {
    if (this.#queue !== undefined) throw new Error(`${this.parts.name} is running already`);
    if (signal.aborted) return;
    const { kinds, keysOf } = this.parts;
    const queue = new WorkQueue(this.parts.env, { ...queueDefaults, ...this.parts.queue });
    this.#queue = queue;
    const onAbort = (): void => queue.close();
    signal.addEventListener('abort', onAbort, { once: true });
    // Followed before it is listed: no change falls in between.
    this.parts.objects.follow(
      (change) => {
        if (!kinds.has(change.kind)) return;
        for (const key of keysOf(change)) this.#add(queue, key);
      },
      () => this.#askForResync(),
      signal,
      kinds,
    );
    this.#resyncFrom = undefined;
    this.#isResyncAsked = true;
    const workers = Array.from({ length: this.parts.workers ?? 4 }, () =>
      this.#work(queue, reconciler, signal),
    );
    await Promise.all([this.#resync(queue, signal), ...workers]);
    this.#retriesBefore += queue.counts.retries;
    this.#queue = undefined;
  }

  /** Has a key looked at, for whoever knows of another reason than a change. */
  wake(key: string): void {
    if (this.#queue !== undefined) this.#add(this.#queue, key);
  }

  async #work(queue: WorkQueue, reconciler: Reconciler, signal: AbortSignal): Promise<void> {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      this.#runs += 1;
      queue.finish(key, await this.#reconcile(reconciler, key, signal));
      if (this.#resyncFrom !== undefined) this.#resyncAlarm.ring();
    }
  }

  async #reconcile(reconciler: Reconciler, key: string, signal: AbortSignal): Promise<Requeue> {
    try {
      return await reconciler.reconcile(key, signal);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      this.#errors += 1;
      this.parts.report({ controller: this.parts.name, key, message, cause });
      return again(message);
    }
  }

  #add(queue: WorkQueue, key: string): void {
    // What the resync under way has not come to yet needs no other one.
    if (queue.add(key) || (this.#resyncFrom !== undefined && key >= this.#resyncFrom)) return;
    this.#askForResync();
  }

  #askForResync(): void {
    this.#isResyncAsked = true;
    this.#resyncAlarm.ring();
  }

  async #resync(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    const { env, resyncMs = 60_000 } = this.parts;
    const keysMax = this.parts.queue?.keysMax ?? queueDefaults.keysMax;
    while (!signal.aborted) {
      if (this.#resyncFrom === undefined && this.#isResyncAsked) {
        this.#isResyncAsked = false;
        this.#resyncFrom = '';
        this.#resyncs += 1;
      }
      if (this.#resyncFrom !== undefined && queue.size <= keysMax / 2) {
        this.#resyncFrom = await this.#addAll(queue, this.#resyncFrom, signal);
        continue;
      }
      // Resyncs of many controllers that started together spread out.
      const waitMs = resyncMs * (0.9 + 0.2 * env.random.float());
      if (await this.#resyncAlarm.sleep(waitMs, signal)) this.#isResyncAsked = true;
    }
  }

  /** Adds all keys from one on, in order. The first one that there is no room for; undefined: all are in it. */
  async #addAll(queue: WorkQueue, from: string, signal: AbortSignal): Promise<string | undefined> {
    let left = keysPerYield;
    for (const key of [...this.parts.listKeys()].toSorted()) {
      if (key < from) continue;
      if (signal.aborted) return undefined;
      if (!queue.add(key)) return key;
      left -= 1;
      if (left > 0) continue;
      left = keysPerYield;
      await this.parts.env.yield();
    }
    return undefined;
  }
}
