import { expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { isBerthError } from '../model/errors.js';
import { asRevision, type Revision } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { compactHistory } from './compact-history.js';

it.each([10_000, 60_000, 90_000, 300_000])(
  'history of %d ms is there for that long, and at most two minutes longer',
  async (historyMs) => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('server');
    let failure: unknown = new Error('it did not end');
    world.spawn(machine, 'server', async (env) => {
      const store = new MemoryStore(env);
      const cache = { revision: asRevision(0) };
      const stop = new AbortController();
      const compacting = compactHistory({ store, cache, env, historyMs }, stop.signal);
      const everySecond: Revision[] = [];
      const isThere = (secondsAgo: number): Promise<boolean> =>
        store.read({ from: '/', to: '0' }, { revision: everySecond.at(-secondsAgo) as Revision }).then(
          () => true,
          (error: unknown) => {
            if (isBerthError(error, 'Expired')) return false;
            throw error;
          },
        );
      try {
        for (let second = 0; second < 900; second++) {
          const write = { kind: 'put', key: '/x', value: Buffer.from(String(second)) } as const;
          const outcome = await store.transact({ guards: [], writes: [write] });
          if (outcome.kind === 'Committed') everySecond.push((cache.revision = outcome.revision));
          await env.sleep(1_000);
          const seconds = Math.min(historyMs / 1_000, second + 1);
          expect(await isThere(seconds), `${seconds} s ago, at ${second} s`).toBe(true);
          if (second > historyMs / 1_000 + 125) expect(await isThere(historyMs / 1_000 + 122)).toBe(false);
        }
        failure = undefined;
      } catch (error) {
        failure = error;
      }
      stop.abort();
      await compacting;
    });
    expect((await world.run()).kind).toBe('idle');
    if (failure !== undefined) throw failure as Error;
  },
);
