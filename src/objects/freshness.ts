import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { Revision, Store } from '../store/contract.js';
import { singleKey } from '../store/key-range.js';
import { markKey, markValue } from './keys.js';
import type { ObjectCache } from './object-cache.js';

/** Makes a cache show everything that was acknowledged, by whichever server, before it is asked. */
export interface Freshness {
  catchUp(): Promise<void>;
}

/** For a store that this process has to itself: a write is answered when the cache shows it, so there is nothing to wait for. */
export const ownStore: Freshness = { catchUp: () => Promise.resolve() };

// What the cache is behind by usually arrives within this; a mark costs a write.
const patienceMs = 20;
const waitMsMax = 3_000;
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

  async catchUp(): Promise<void> {
    const { cache } = this.parts;
    const revision = await this.#storeRevision();
    if (cache.revision >= revision || (await this.#arrives(revision, patienceMs))) return;
    let isOver = false;
    const timer = this.parts.env.after(waitMsMax, () => (isOver = true));
    try {
      while (cache.revision < revision) {
        if (isOver) throw behind(cache.revision, revision);
        // A mark that is under way may have been written before `revision`: then another one is needed.
        this.#marking ??= this.#mark().finally(() => (this.#marking = undefined));
        await this.#marking;
      }
    } finally {
      timer.cancel();
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
      if (outcome.kind === 'Committed') await this.#arrives(outcome.revision, waitMsMax);
      else await env.sleep(retryMs);
    } catch (error) {
      if (!isBerthError(error, 'StoreUnavailable') && !isBerthError(error, 'StoreOverloaded')) throw error;
      await env.sleep(retryMs);
    }
  }

  async #arrives(revision: Revision, withinMs: number): Promise<boolean> {
    const tooLong = new AbortController();
    const timer = this.parts.env.after(withinMs, () => tooLong.abort());
    try {
      await this.parts.cache.notOlderThan(revision, tooLong.signal);
      return true;
    } catch {
      return false;
    } finally {
      timer.cancel();
    }
  }
}

const behind = (has: Revision, wanted: Revision): BerthError =>
  new BerthError(
    'StoreUnavailable',
    `this server has seen the store up to revision ${has} and the store is at ${wanted}; it did not catch up within ${waitMsMax} ms`,
    { details: { retryAfterSeconds: 1 } },
  );
