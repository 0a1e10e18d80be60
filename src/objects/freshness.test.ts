import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import { VirtualTime } from '../env/virtual.js';
import type { Store } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { SharedStore } from './freshness.js';
import { draft, kindOf, openObjects } from './open-objects.fixture.js';

const Tenant = kindOf('Tenant');
const keyOf = (name: string) => ({ kind: 'Tenant', namespace: undefined, name });

interface Lag {
  readMs: number;
  watchMs: number;
  reads: number;
  marks: number;
}

/** A store as a server sees it whose watches bring changes late. */
function lagging(inner: MemoryStore, env: Env, lag: Lag): Store {
  return {
    read: async (range, options) => {
      lag.reads += 1;
      await env.sleep(lag.readMs);
      return inner.read(range, options);
    },
    transact: (transaction) => {
      if (transaction.writes.some(({ key }) => key.startsWith('/p/'))) lag.marks += 1;
      return inner.transact(transaction);
    },
    compact: (revision) => inner.compact(revision),
    close: () => inner.close(),
    watch: (range, options) => {
      const watch = inner.watch(range, options);
      const late = {
        next: async () => {
          const turn = await watch.next();
          await env.sleep(lag.watchMs);
          return turn;
        },
        return: () => watch.return(),
        [Symbol.asyncIterator]: () => late,
      };
      return late;
    },
  };
}

type Server = Awaited<ReturnType<typeof openObjects>> & { env: Env; lag: Lag };

async function twoServers(story: (a: Server, b: Server, store: MemoryStore) => Promise<void>): Promise<void> {
  const world = new VirtualTime({ seed: 1 });
  const machine = world.machine('both');
  const { env } = machine;
  let failure: unknown = new Error('the story did not end');
  world.spawn(machine, 'both', async () => {
    const inner = new MemoryStore(env);
    const open = async (): Promise<Server> => {
      const lag = { readMs: 1, watchMs: 10, reads: 0, marks: 0 };
      const opened = await openObjects(
        lagging(inner, env, lag),
        env,
        (store, cache) => new SharedStore({ store, cache, env }),
      );
      lag.reads = lag.marks = 0;
      return { ...opened, env, lag };
    };
    const [a, b] = [await open(), await open()];
    failure = await story(a, b, inner).catch((error: unknown) => error);
    await inner.close();
    await a.cache.close();
    await b.cache.close();
  });
  expect((await world.run()).kind).toBe('idle');
  if (failure !== undefined) throw failure as Error;
}

describe('a cache over a store that servers share', () => {
  it('shows after catching up what another server has acknowledged, created or deleted', () =>
    twoServers(async (a, b) => {
      b.lag.watchMs = 15;
      for (let n = 0; n < 50; n++) {
        await a.objects.create(Tenant, undefined, draft('Tenant', `t${n}`, {}));
        await b.freshness.catchUp();
        expect(b.cache.get(keyOf(`t${n}`)), `t${n}`).toBeDefined();
      }
      expect(b.lag.marks, 'waiting was enough').toBe(0);
      const { entries } = await a.store.read({ from: '/o/', to: '/o0' });
      expect(entries).toHaveLength(50);
    }));

  it('catches up also with what it never sees, by one mark', () =>
    twoServers(async (_, b, store) => {
      const record = { kind: 'put', key: 'elsewhere/x', value: Buffer.from('x') } as const;
      const { cache } = b;
      const outcome = await store.transact({ guards: [], writes: [record] });
      await Promise.all(Array.from({ length: 20 }, () => b.freshness.catchUp()));
      expect(cache.revision).toBeGreaterThanOrEqual('revision' in outcome ? outcome.revision : 0);
      expect(b.lag.marks).toBe(1);
      await b.freshness.catchUp();
      expect(b.lag.marks).toBe(1);
    }));

  it('asks the store once for all that wait, with a read that began after each of them came', () =>
    twoServers(async (a, b) => {
      const early = Array.from({ length: 30 }, () => b.freshness.catchUp());
      expect(b.lag.reads).toBe(1);
      await a.objects.create(Tenant, undefined, draft('Tenant', 'late', {}));
      await b.freshness.catchUp();
      expect(b.cache.get(keyOf('late'))).toBeDefined();
      await Promise.all(early);
      expect(b.lag.reads).toBeLessThanOrEqual(3);
    }));

  it('a write is answered within 3 s, as one whose outcome is not known if the store has not told it by then', () =>
    twoServers(async (a, b) => {
      const { env } = b;
      const startedAt = env.clock.monotonic();
      await expect(b.freshness.inTime(() => env.sleep(60_000))).rejects.toMatchObject({
        code: 'UnknownOutcome',
      });
      expect(msBetween(startedAt, env.clock.monotonic())).toBe(3_000);
      expect(await b.freshness.inTime(() => env.sleep(2_900).then(() => 'written'))).toBe('written');
      // A write that cannot catch up was never sent, and is refused before that.
      b.lag.watchMs = 60_000;
      await a.objects.create(Tenant, undefined, draft('Tenant', 'unseen', {}));
      await expect(b.freshness.inTime(() => b.freshness.catchUp())).rejects.toMatchObject({
        code: 'StoreUnavailable',
      });
    }));

  it('a write that the cache does not show is answered as what it is: written, or not for certain', () =>
    twoServers(async (_, b) => {
      const { env, objects } = b;
      b.lag.watchMs = 60_000;
      const startedAt = env.clock.monotonic();
      const { object } = await objects.create(Tenant, undefined, draft('Tenant', 'written', {}));
      expect(object.metadata.name).toBe('written');
      expect(msBetween(startedAt, env.clock.monotonic())).toBeLessThan(2_000);
      // The cache shows nothing of that name, so it is tried, and found to be there.
      await expect(objects.create(Tenant, undefined, draft('Tenant', 'written', {}))).rejects.toMatchObject({
        code: 'StoreUnavailable',
      });
      expect(msBetween(startedAt, env.clock.monotonic())).toBeLessThan(5_000);
    }));

  it('says that it is behind when nothing arrives', () =>
    twoServers(async (a, b) => {
      b.lag.watchMs = 60_000;
      await a.objects.create(Tenant, undefined, draft('Tenant', 'unseen', {}));
      await expect(b.freshness.catchUp()).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringContaining('did not catch up within 2800 ms') as string,
      });
    }));
});
