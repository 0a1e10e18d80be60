import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { realEnv } from '../env/real.js';
import { VirtualTime } from '../env/virtual.js';
import { BerthError, isBerthError } from '../model/errors.js';
import { Versions } from '../model/versions.js';
import { asRevision, type Revision, type Store, type Write } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { Codec } from './codec.js';
import { eventsKeptMax } from './event-history.js';
import { everythingRange } from './keys.js';
import { ObjectCache } from './object-cache.js';

const env = realEnv();
const versions = new Versions(0);

async function started(store: Store, on: Env = env): Promise<ObjectCache> {
  const cache = new ObjectCache({ store, env: on, codec: new Codec(), versions });
  await cache.start();
  return cache;
}

const keyOf = (name: string): string => `/o/Workload/default/${name}`;
const put = (name: string, value: number): Write => ({
  kind: 'put',
  key: keyOf(name),
  value: Buffer.from(
    JSON.stringify({
      kind: 'Workload',
      metadata: { name, namespace: 'default', uid: name },
      spec: { value },
    }),
  ),
});
const drop = (name: string): Write => ({ kind: 'delete', key: keyOf(name) });

async function commit(store: Store, ...writes: Write[]): Promise<Revision> {
  const outcome = await store.transact({ guards: [], writes });
  if (outcome.kind !== 'Committed') throw new Error(outcome.kind);
  return outcome.revision;
}

/** Everything that a watch has to say after a revision, as one line for each object; or the code of its error. */
async function toldAfter(cache: ObjectCache, after: Revision): Promise<readonly string[] | string> {
  const stop = new AbortController();
  const watch = cache.watch({ after, signal: stop.signal });
  try {
    const turn = await Promise.race([watch.next(), env.yield().then(() => undefined)]);
    return (turn?.value ?? []).flatMap(({ revision, changes }) =>
      changes.map(({ type, object, before }) => JSON.stringify([revision, type, object, before])),
    );
  } catch (error) {
    return isBerthError(error) ? error.code : String(error);
  } finally {
    stop.abort();
  }
}

const shown = (cache: ObjectCache): readonly string[] =>
  [...cache.list('Workload')].map(({ object }) => JSON.stringify(object));

/** A store over this one in which some calls are answered otherwise. */
const storeWith = (inner: Store, changed: Partial<Store>): Store => ({
  read: (range, options) => inner.read(range, options),
  transact: (transaction) => inner.transact(transaction),
  watch: (range, options) => inner.watch(range, options),
  compact: (revision) => inner.compact(revision),
  close: () => inner.close(),
  ...changed,
});

/** Groups of creations, changes, deletions and objects that are made again, some changes that no object shows. */
async function written(store: Store): Promise<Revision[]> {
  return [
    await commit(store, put('a', 1), put('b', 1), put('c', 1)),
    await commit(store, put('a', 2)),
    await commit(store, { kind: 'put', key: '/p/other', value: Buffer.from('1') }),
    await commit(store, drop('b'), put('c', 2), put('d', 1)),
    await commit(store, put('b', 3), put('a', 3)),
    await commit(store, drop('d')),
    await commit(store, { kind: 'put', key: 'others/key', value: Buffer.from('1') }),
  ];
}

describe('a cache that starts', () => {
  it('[S11] tells a watch after any revision what a cache that never stopped tells it', async () => {
    const store = new MemoryStore(env);
    const before = await started(store);
    const revisions = await written(store);
    const after = await started(store);
    await before.notOlderThan(after.revision);
    expect(shown(after)).toEqual(shown(before));
    for (const revision of [asRevision(1), ...revisions]) {
      const told = await toldAfter(before, revision);
      expect(await toldAfter(after, revision), `after ${revision}`).toEqual(told);
    }
    expect(await toldAfter(after, revisions[0] as Revision)).toHaveLength(7);
    await before.close();
    await after.close();
  });

  it('[S11] begins where the history of the store begins, and says Expired before that', async () => {
    const store = new MemoryStore(env);
    const revisions = await written(store);
    const [, , compacted] = revisions as [Revision, Revision, Revision];
    await store.compact(compacted);
    const cache = await started(store);
    expect(await toldAfter(cache, compacted)).toHaveLength(6);
    expect(await toldAfter(cache, asRevision(compacted - 1))).toBe('Expired');
    await cache.close();
  });

  it('keeps as many events as a cache that never stopped, and no more', async () => {
    const store = new MemoryStore(env);
    const before = await started(store);
    for (let round = 0; round < 300; round++)
      await commit(store, ...Array.from({ length: 100 }, (_, number) => put(`w${number}`, round)));
    const last = await commit(store, put('last', 1));
    await before.notOlderThan(last);
    const after = await started(store);
    const heldBy = async (cache: ObjectCache): Promise<number> => {
      for (let back = 1; ; back++) {
        const watch = cache.watch({ after: asRevision(last - back) });
        const isKept = await watch.next().then(
          () => true,
          () => false,
        );
        await watch.return();
        if (!isKept) return (back - 1) * 100;
      }
    };
    const [heldBefore, heldAfter] = [await heldBy(before), await heldBy(after)];
    expect(heldAfter).toBeGreaterThan(eventsKeptMax - 200);
    expect(heldAfter).toBeLessThanOrEqual(heldBefore);
    expect(shown(after)).toEqual(shown(before));
    await before.close();
    await after.close();
  });

  it('looks back over fewer revisions where there are very many changes', async () => {
    const inner = new MemoryStore(env);
    for (let round = 0; round < 1_200; round++)
      await commit(inner, ...Array.from({ length: 100 }, (_, number) => put(`w${number}`, round)));
    const asked: number[] = [];
    const store = storeWith(inner, {
      watch: (range, options) => {
        asked.push(options.after);
        return inner.watch(range, options);
      },
    });
    const cache = await started(store);
    // From the beginning, then from the last quarter, of which the last two thirds are kept; the last watch stays open.
    expect(asked).toEqual([1, 902, 1_202]);
    expect(await toldAfter(cache, asRevision(1_001))).toHaveLength(eventsKeptMax);
    await cache.close();
  });

  it.each<readonly [string, (inner: Store) => Partial<Store>]>([
    [
      'is compacted while it is read',
      (inner) => ({
        read: (range, options) => {
          if (options?.revision !== undefined)
            return Promise.reject(new BerthError('Expired', 'compacted meanwhile'));
          return inner.read(range, options);
        },
      }),
    ],
    [
      'has no end that is known',
      () => ({ transact: () => Promise.resolve({ kind: 'UnknownOutcome', cause: new Error('no answer') }) }),
    ],
    [
      'cannot be marked, because the disk is full',
      () => ({ transact: () => Promise.reject(new BerthError('StoreFull', 'no room')) }),
    ],
  ])('starts at the present, with all there is, where history %s', async (_, changed) => {
    const inner = new MemoryStore(env);
    const revisions = await written(inner);
    const cache = await started(storeWith(inner, changed(inner)));
    const there = await started(inner);
    expect(shown(cache)).toEqual(shown(there));
    expect(await toldAfter(cache, cache.revision)).toEqual([]);
    expect(await toldAfter(cache, revisions[3] as Revision)).toBe('Expired');
    await commit(inner, put('later', 1));
    await expect.poll(() => shown(cache).length).toBe(4);
    await cache.close();
    await there.close();
  });

  it('starts at the present where the store tells no history for too long', async () => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('server');
    let count = 0;
    world.spawn(machine, 'server', async (on) => {
      const inner = new MemoryStore(on);
      await written(inner);
      let isSilent = true;
      const store = storeWith(inner, {
        watch: (range, options) => inner.watch(isSilent ? { from: 'never/', to: 'never0' } : range, options),
      });
      const starting = started(store, on);
      await on.sleep(4_000);
      expect(count).toBe(0);
      await on.sleep(2_000);
      isSilent = false;
      const cache = await starting;
      count = shown(cache).length;
      await cache.close();
      await inner.close();
    });
    expect((await world.run()).kind).toBe('idle');
    expect(count).toBe(3);
  });

  it('reads all of the past at one revision, however the store is written to meanwhile', async () => {
    const inner = new MemoryStore(env);
    await written(inner);
    let reads = 0;
    const store = storeWith(inner, {
      read: async (range, options) => {
        await commit(inner, put('a', 100 + reads), put(`new${(reads += 1)}`, 1));
        return inner.read(range, options);
      },
    });
    const cache = await started(store);
    const { revision } = await inner.read(everythingRange, { limit: 1 });
    await cache.notOlderThan(revision);
    const there = await started(inner);
    expect(shown(cache)).toEqual(shown(there));
    expect(await toldAfter(cache, asRevision(1))).toEqual(await toldAfter(there, asRevision(1)));
    await cache.close();
    await there.close();
  });
});
