import { expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import type { Store } from './contract.js';
import { MeasuredStore } from './measured.js';
import { MemoryStore } from './memory.js';

it('tells of every transaction how it ended and how long it took', async () => {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('server');
  const memory = new MemoryStore(env);
  const slow: Pick<Store, 'transact'> = {
    transact: async (transaction) => {
      await env.sleep(25);
      return memory.transact(transaction);
    },
  };
  const told: [string, number][] = [];
  const store = new MeasuredStore(
    Object.assign(Object.create(memory) as Store, slow),
    env,
    (outcome, durationMs) => told.push([outcome, durationMs]),
  );
  const put = { kind: 'put', key: 'a', value: Buffer.from('1') } as const;
  env.after(0, () => {
    void (async () => {
      await store.transact({ guards: [], writes: [put] });
      await store.transact({ guards: [{ kind: 'absent', key: 'a' }], writes: [put] });
      await store.transact({ guards: [], writes: [put, put] }).catch(() => undefined);
    })();
  });
  await time.run();
  expect(told).toEqual([
    ['Committed', 25],
    ['GuardFailed', 25],
    ['Refused', 25],
  ]);
});
