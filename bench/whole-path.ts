import { mkdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { realEnv } from '../src/env/real.js';
import type { Store } from '../src/store/contract.js';
import { percentile } from './measure.js';
import { observedStore } from './observed-store.js';
import { onCoreClock } from './on-core.js';
import { openScheduleCell, workloadSpec } from './schedule-cell.js';

const tenants = 20;

export interface PathRun {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** On a core. */
  readonly mainThreadUs: number;
  readonly memory: Memory;
  readonly loopDelayP99Ms: number;
  readonly putsPerReplica: number;
  readonly bytesPerPut: number;
}

export interface PathOptions {
  readonly dir: string;
  readonly nodes: number;
  readonly replicas: number;
  readonly isShared: boolean;
}

/** From workloads that are created until the last of their replicas is seen bound in the cache. */
export async function wholePath(
  openStore: () => Promise<Store>,
  { dir, nodes, replicas, isShared }: PathOptions,
): Promise<PathRun> {
  mkdirSync(dir, { recursive: true });
  const written = { puts: 0, bytes: 0 };
  const cell = await openScheduleCell(counting(await openStore(), written), realEnv(), {
    dir,
    nodes,
    isShared,
    cpuPerNode: 64,
  });
  for (let at = 0; at < tenants; at++)
    await cell.create('Tenant', undefined, `tenant-${at}`, { limit: { cpu: '1000000' } });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  written.puts = written.bytes = 0;
  delay.enable();
  const onCoreMs = onCoreClock();
  const [startedAt, fromMs] = [performance.now(), onCoreMs()];
  for (let at = 0; at < tenants; at++)
    await cell.create('Workload', `tenant-${at}`, 'work', workloadSpec(replicas / tenants));
  await cell.bound(replicas);
  const seconds = (performance.now() - startedAt) / 1_000;
  const mainThreadUs = ((onCoreMs() - fromMs) * 1_000) / replicas;
  delay.disable();
  const { puts, bytes } = written;
  const memory = memoryNow();
  const sorted = cell.queuedToBoundMs.toSorted((a, b) => a - b);
  await cell.close();
  return {
    ...{ perSecond: replicas / seconds, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) },
    ...{ mainThreadUs, memory, loopDelayP99Ms: delay.percentile(99) / 1e6, putsPerReplica: puts / replicas },
    bytesPerPut: bytes / puts,
  };
}

interface Memory {
  /** What belongs to the process alone. */
  readonly ownMb: number;
  readonly heapMb: number;
  /** Of the store's file and of programs: the kernel takes them back whenever it needs them. */
  readonly mappedMb: number;
}

function memoryNow(): Memory {
  const status = readFileSync('/proc/self/status', 'latin1');
  const mb = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return {
    ownMb: mb('RssAnon'),
    heapMb: process.memoryUsage().heapUsed / 1024 ** 2,
    mappedMb: mb('RssFile') + mb('RssShmem'),
  };
}

/** Counts what is written, and keeps nothing of it: memory is measured too. */
const counting = (store: Store, written: { puts: number; bytes: number }): Store =>
  observedStore(store, ({ writes }) => {
    for (const write of writes) {
      if (write.kind !== 'put') continue;
      written.puts += 1;
      written.bytes += write.value.byteLength;
    }
  });
