import { join } from 'node:path';
import { realEnv } from '../src/env/real.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { openLmdb } from '../src/store/lmdb-environment.js';
import { scratchDirectory } from '../testing/scratch.js';
import { guardedWriter } from './guarded-writer.js';
import { type Bench, inTurn, load, type Load } from './measure.js';

const value = Buffer.alloc(200, 'v');
const keysPerCaller = 1_000;
const runMs = 3_000;

/** The keys of one transaction: every caller goes round its own keys. */
const keysOf = (caller: number, round: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `/bench/${index}/${caller}/${round % keysPerCaller}`);

async function measure(callers: number, writes: number): Promise<[raw: Load, berth: Load]> {
  const scratch = scratchDirectory('bench-lmdb');
  // The package's own way for many callers: writes queued, one commit and one sync for all that came together.
  const raw = openLmdb(join(scratch.path, 'raw'), 'flush');
  const store = await LmdbStore.open({ dir: join(scratch.path, 'berth'), env: realEnv() });
  const write = guardedWriter(store, value, (caller, round) => keysOf(caller, round, writes));
  const [rawLoad, berthLoad] = await inTurn(
    3,
    () =>
      load(callers, runMs, async (caller, round) => {
        await raw.batch(() => {
          for (const key of keysOf(caller, round, writes)) void raw.put(Buffer.from(key), value);
        });
      }),
    () => load(callers, runMs, write),
  );
  await store.close();
  await raw.close();
  scratch.remove();
  if (rawLoad === undefined || berthLoad === undefined) throw new Error('nothing was measured');
  return [rawLoad, berthLoad];
}

export const lmdbBench: Bench = {
  name: 'lmdb',
  title: 'lmdb store: guarded transactions, flushed, beside raw lmdb doing the same writes flushed',
  async run(print) {
    for (const { callers, writes, target } of [
      { callers: 64, writes: 3, target: { shareOfLimit: 0.5 } },
      { callers: 1, writes: 3 },
      { callers: 64, writes: 50 },
      { callers: 1, writes: 50 },
    ]) {
      const [raw, berth] = await measure(callers, writes);
      const name = `${callers} caller${callers === 1 ? '' : 's'}, ${writes} writes`;
      const limit = (limitValue: number): { value: number; what: string } => ({
        value: limitValue,
        what: 'raw lmdb',
      });
      print({
        name: `${name}: transactions`,
        value: berth.perSecond,
        unit: '/s',
        limit: limit(raw.perSecond),
        ...(target === undefined ? {} : { target }),
      });
      print({ name: `${name}: p50`, value: berth.p50Ms, unit: 'ms', limit: limit(raw.p50Ms) });
      print({ name: `${name}: p99`, value: berth.p99Ms, unit: 'ms', limit: limit(raw.p99Ms) });
    }
  },
};
