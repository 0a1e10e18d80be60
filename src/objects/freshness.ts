import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { Revision, Store } from '../store/contract.js';
import { singleKey } from '../store/key-range.js';
import { markKey, markValue } from './keys.js';
import type { ObjectCache } from './object-cache.js';

/** How the cache of a server stands to its store, and how long a request waits for the two. */
export interface Freshness {
  /** Makes the cache show everything that was acknowledged, by whichever server, before it is asked. Refused: StoreUnavailable. */
  catchUp(): Promise<void>;
  /** Waits until the cache shows a revision that the store has acknowledged. False: it does not, within the time given. */
  arrives(revision: Revision, withinMs: number): Promise<boolean>;
  /** Does a write, its catching up included, and answers in time: what is not known by then is UnknownOutcome. */
  inTime<T>(write: () => Promise<T>): Promise<T>;
}

/** For a store that this process has to itself: a write is answered when the cache shows it, so there is nothing to wait for. */
export const ownStore = (cache: Pick<ObjectCache, 'notOlderThan'>): Freshness => ({
  catchUp: () => Promise.resolve(),
  arrives: (revision) => cache.notOlderThan(revision).then(() => true),
  inTime: (write) => write(),
});

// What the cache is behind by usually arrives within this; a mark costs a write.
const patienceMs = 20;
// docs/api.md promises it.
const answerMsMax = 3_000;
// Less than that: a write that could not catch up is refused as one that was never sent, before its outcome counts as unknown.
const waitMsMax = 2_800;
const retryMs = 50;

/**
 * For a store that several servers share. It asks the store how far it has come and waits until the cache has come
 * that far.
 *
 * The store also counts changes that the cache never sees (in etcd those of others), so waiting alone might never
 * end. Then it writes a mark among the objects: a watch is in order, so whoever has seen the mark has
 * seen everything before it.
 */
export class SharedStore implements Freshness {
  #reading: Promise<Revision> | undefined;
  #nextReading: Promise<Revision> | undefined;
  #marking: Promise<void> | undefined;

  constructor(
    private readonly parts: { readonly store: Store; readonly cache: ObjectCache; readonly env: Env },
  ) {}

  catchUp(): Promise<void> {
    return new Promise((resolve, reject) => {
      let wanted: Revision | undefined;
      const tooLong = new AbortController();
      const timer = this.parts.env.after(waitMsMax, () => {
        tooLong.abort();
        reject(behind(this.parts.cache.revision, wanted));
      });
      const follow = async (): Promise<void> => {
        wanted = await this.#storeRevision();
        await this.#follow(wanted, tooLong.signal);
      };
      void follow()
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  inTime<T>(write: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.parts.env.after(answerMsMax, () => reject(unanswered()));
      void write()
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  async #follow(revision: Revision, tooLong: AbortSignal): Promise<void> {
    const { cache } = this.parts;
    if (cache.revision >= revision || (await this.arrives(revision, patienceMs))) return;
    while (cache.revision < revision && !tooLong.aborted) {
      // A mark that is under way may have been written before `revision`: then another one is needed.
      this.#marking ??= this.#mark().finally(() => (this.#marking = undefined));
      await this.#marking;
    }
  }

  /** Shared between callers, and always from a read that began after the call. */
  #storeRevision(): Promise<Revision> {
    if (this.#reading === undefined) return this.#read();
    this.#nextReading ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#nextReading = undefined;
        return this.#reading ?? this.#read();
      });
    return this.#nextReading;
  }

  #read(): Promise<Revision> {
    this.#reading = this.parts.store
      .read(singleKey(markKey))
      .then(({ revision }) => revision)
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #mark(): Promise<void> {
    const { store, env } = this.parts;
    try {
      const outcome = await store.transact({
        guards: [],
        writes: [{ kind: 'put', key: markKey, value: markValue }],
      });
      if (outcome.kind === 'Committed') await this.arrives(outcome.revision, waitMsMax);
      else await env.sleep(retryMs);
    } catch (error) {
      if (!isBerthError(error, 'StoreUnavailable') && !isBerthError(error, 'StoreOverloaded')) throw error;
      await env.sleep(retryMs);
    }
  }

  async arrives(revision: Revision, withinMs: number): Promise<boolean> {
    const { cache, env } = this.parts;
    if (cache.revision >= revision) return true;
    const tooLong = new AbortController();
    const timer = env.after(withinMs, () => tooLong.abort());
    try {
      await cache.notOlderThan(revision, tooLong.signal);
      return true;
    } catch {
      return false;
    } finally {
      timer.cancel();
    }
  }
}

const unanswered = (): BerthError =>
  new BerthError(
    'UnknownOutcome',
    `no answer from the store within ${answerMsMax} ms; it is not known whether the write was applied: read it back before trying again`,
  );

/** Undefined: not even the store has said how far it has come. */
const behind = (has: Revision, wanted: Revision | undefined): BerthError =>
  wanted === undefined
    ? new BerthError('StoreUnavailable', `no answer from the store within ${waitMsMax} ms`)
    : new BerthError(
        'StoreUnavailable',
        `this server has seen the store up to revision ${has} and the store is at ${wanted}; it did not catch up within ${waitMsMax} ms`,
        { details: { retryAfterSeconds: 1 } },
      );
