import { fileURLToPath } from 'node:url';
import { realEnv } from '../src/env/real.js';
import type { Write } from '../src/store/contract.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { run } from '../testing/run-process.js';
import { scratchDirectory } from '../testing/scratch.js';
import type { Bench } from './measure.js';

const objects = 100_000;
const writesPerTransaction = 120;

interface Started {
  readonly ms: number;
  readonly cpuMs: number;
  readonly objects: number;
}

const put = (number: number, version: number): Write => ({
  kind: 'put',
  key: `/o/Replica/bank/web-${number}-1`,
  value: Buffer.from(
    JSON.stringify({
      apiVersion: 'berth.dev/v1',
      kind: 'Replica',
      metadata: { name: `web-${number}-1`, namespace: 'bank', uid: `uid-${number}`, generation: version },
      spec: { workload: 'web', slot: String(number), revision: 'web-1', filling: 'x'.repeat(500) },
    }),
  ),
});

export const startBench: Bench = {
  name: 'start',
  title: `starting a cache over lmdb with ${objects.toLocaleString('en-US')} objects of 700 bytes, in a new process`,
  async run(print) {
    const scratch = scratchDirectory('bench-start');
    /** Changes so many objects in each of so many transactions. */
    const change = async (transactions: number, each: number, isCompacted = false): Promise<void> => {
      const store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
      let begun = 0;
      const writer = async (): Promise<void> => {
        while (begun < transactions) {
          const first = begun * each;
          begun += 1;
          const writes = Array.from({ length: each }, (_, at) => put((first + at) % objects, begun));
          await store.transact({ guards: [], writes });
        }
      };
      await Promise.all(Array.from({ length: 64 }, writer));
      if (isCompacted) await store.compact((await store.read({ from: '/', to: '0' }, { limit: 1 })).revision);
      await store.close();
    };
    const start = async (): Promise<Started> => {
      const child = fileURLToPath(new URL('./start-child.js', import.meta.url));
      const ran = await run(process.execPath, [child, scratch.path]);
      if (ran.status !== 0) throw new Error(ran.stderr);
      const started = JSON.parse(ran.stdout) as Started;
      if (started.objects !== objects) throw new Error(`${started.objects} of ${objects} objects were found`);
      return started;
    };
    await change(Math.ceil(objects / writesPerTransaction), writesPerTransaction, true);
    await start();
    const without = await start();
    for (const [transactions, each] of [
      [20_000, 1],
      [2_000, 100],
    ] as const) {
      await change(transactions, each);
      const started = await start();
      const name = `with a history of ${transactions.toLocaleString('en-US')} transactions of ${each}`;
      const what = 'without history';
      print({ name, value: started.ms / 1_000, unit: 's', limit: { value: without.ms / 1_000, what } });
      print({
        name: 'CPU of that',
        value: started.cpuMs / 1_000,
        unit: 's',
        limit: { value: without.cpuMs / 1_000, what },
      });
      await change(1, 1, true);
    }
    scratch.remove();
  },
};
