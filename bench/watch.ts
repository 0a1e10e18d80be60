import { setMaxListeners } from 'node:events';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { realEnv } from '../src/env/real.js';
import type { Write } from '../src/store/contract.js';
import { everyKey, keysUnder } from '../src/store/key-range.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { scratchDirectory } from '../testing/scratch.js';
import { type Bench, percentile } from './measure.js';

const watchers = 200;
const changesPerSecond = 5_000;
const changesPerTransaction = 5;
const seconds = 6;

/** What this disk takes to sync, in milliseconds, sorted. */
function bareSyncs(dir: string): number[] {
  const descriptor = openSync(join(dir, 'sync-probe'), 'w');
  const block = Buffer.alloc(64 * 1024, 1);
  const took: number[] = [];
  for (let count = 0; count < 300; count++) {
    writeSync(descriptor, block, 0, block.length, count * block.length);
    const startedAt = performance.now();
    fdatasyncSync(descriptor);
    took.push(performance.now() - startedAt);
  }
  closeSync(descriptor);
  return took.toSorted((a, b) => a - b);
}

export const watchBench: Bench = {
  name: 'watch',
  title: `${watchers} watchers of one range on the lmdb store, ${changesPerSecond} changes/s for ${seconds} s`,
  async run(print) {
    const scratch = scratchDirectory('bench-watch');
    const store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
    const { revision } = await store.read(everyKey);
    const stop = new AbortController();
    setMaxListeners(watchers, stop.signal);
    const lags: number[] = [];
    let delivered = 0;
    const reading = Array.from({ length: watchers }, async (_, index) => {
      for await (const sets of store.watch(keysUnder('/w/'), { after: revision, signal: stop.signal })) {
        const now = performance.now();
        for (const set of sets) {
          for (const change of set.changes) {
            delivered += 1;
            // Every tenth watcher is timed; all of them work.
            if (index % 10 === 0 && change.kind === 'put') {
              lags.push(now - Buffer.from(change.entry.value).readDoubleLE(0));
            }
          }
        }
      }
    });
    await sleep(100);
    globalThis.gc?.();
    const heapBefore = process.memoryUsage().heapUsed;
    const acknowledged: number[] = [];
    const startedAt = performance.now();
    let sent = 0;
    const pending: Promise<void>[] = [];
    while (performance.now() - startedAt < seconds * 1000) {
      // Paced by the clock, not by the answers: a slow store does not get fewer changes.
      while (sent < ((performance.now() - startedAt) / 1000) * changesPerSecond) {
        const sentAt = performance.now();
        const stamp = Buffer.alloc(100);
        stamp.writeDoubleLE(sentAt);
        const writes = Array.from({ length: changesPerTransaction }, (_, index): Write => ({
          kind: 'put',
          key: `/w/${(sent + index) % 2_000}`,
          value: stamp,
        }));
        sent += changesPerTransaction;
        pending.push(
          store.transact({ guards: [], writes }).then(() => {
            acknowledged.push(performance.now() - sentAt);
          }),
        );
      }
      await sleep(1);
    }
    await Promise.all(pending);
    await sleep(200);
    const heapAfter = process.memoryUsage().heapUsed;
    stop.abort();
    await Promise.all(reading);
    if (delivered !== sent * watchers)
      throw new Error(`${delivered} changes arrived, ${sent * watchers} were due`);
    lags.sort((a, b) => a - b);
    acknowledged.sort((a, b) => a - b);
    const syncs = bareSyncs(scratch.path);
    const limitOf = (share: number): { value: number; what: string } => ({
      value: percentile(syncs, share),
      what: 'one bare sync of 64 KiB',
    });
    print({ name: 'changes sent', value: sent / seconds, unit: '/s' });
    print({ name: 'changes delivered', value: delivered / seconds, unit: '/s' });
    print({
      name: 'lag from call to delivery, p50',
      value: percentile(lags, 0.5),
      unit: 'ms',
      limit: limitOf(0.5),
    });
    print({
      name: 'lag from call to delivery, p99',
      value: percentile(lags, 0.99),
      unit: 'ms',
      limit: limitOf(0.99),
    });
    print({
      name: 'heap growth, before collection',
      value: (heapAfter - heapBefore) / 1024 ** 2,
      unit: 'MiB',
    });
    print({ name: 'resident memory', value: process.memoryUsage().rss / 1024 ** 2, unit: 'MiB' });
    await store.close();
    scratch.remove();
  },
};
