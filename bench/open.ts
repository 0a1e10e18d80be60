import { fileURLToPath } from 'node:url';
import { realEnv } from '../src/env/real.js';
import type { Write } from '../src/store/contract.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { scratchDirectory } from '../testing/scratch.js';
import { run } from '../testing/run-process.js';
import type { Bench } from './measure.js';

const keys = 1_000_000;
const writesPerTransaction = 125;

interface Opened {
  readonly openMs: number;
  readonly openRssMiB: number;
  readonly baseRssMiB: number;
  readonly firstReadMs: number;
  readonly listMs: number;
  readonly listed: number;
}

export const openBench: Bench = {
  name: 'open',
  title: `opening an lmdb store with ${keys.toLocaleString('en-US')} keys of 200 bytes, in a new process`,
  async run(print) {
    const scratch = scratchDirectory('bench-open');
    const store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
    const value = Buffer.alloc(200, 'v');
    let next = 0;
    const startedAt = performance.now();
    const fill = async (): Promise<void> => {
      while (next < keys) {
        const first = next;
        next += writesPerTransaction;
        const writes = Array.from({ length: writesPerTransaction }, (_, index): Write => ({
          kind: 'put',
          key: `/o/Thing/ns/${String(first + index).padStart(8, '0')}`,
          value,
        }));
        await store.transact({ guards: [], writes });
      }
    };
    await Promise.all(Array.from({ length: 32 }, fill));
    print({ name: 'filling it', value: keys / ((performance.now() - startedAt) / 1000), unit: 'keys/s' });
    const { revision } = await store.read({ from: '/', to: '0' }, { limit: 1 });
    await store.compact(revision);
    await store.close();

    const ask = async (how: 'raw' | 'berth'): Promise<Opened> => {
      const ran = await run(process.execPath, [
        fileURLToPath(new URL('./open-child.js', import.meta.url)),
        how,
        scratch.path,
      ]);
      if (ran.status !== 0) throw new Error(ran.stderr);
      return JSON.parse(ran.stdout) as Opened;
    };
    await ask('raw');
    const raw = await ask('raw');
    const berth = await ask('berth');
    const what = 'raw lmdb';
    print({ name: 'open', value: berth.openMs / 1000, unit: 's', limit: { value: raw.openMs / 1000, what } });
    print({
      name: 'memory of opening',
      value: berth.openRssMiB - berth.baseRssMiB,
      unit: 'MiB',
      limit: { value: raw.openRssMiB - raw.baseRssMiB, what },
    });
    print({
      name: 'first read',
      value: berth.firstReadMs,
      unit: 'ms',
      limit: { value: raw.firstReadMs, what },
    });
    print({
      name: 'listing every key in pages',
      value: berth.listMs / 1000,
      unit: 's',
      limit: { value: raw.listMs / 1000, what },
    });
    if (berth.listed !== keys || raw.listed < keys)
      throw new Error(`${berth.listed} of ${keys} keys were found`);
    scratch.remove();
  },
};
