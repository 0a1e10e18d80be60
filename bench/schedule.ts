import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { realEnv } from '../src/env/real.js';
import type { TenantAccount } from '../src/model/records.js';
import type { Store } from '../src/store/contract.js';
import { EtcdStore } from '../src/store/etcd.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { startEtcd } from '../testing/etcd-server.js';
import { scratchDirectory } from '../testing/scratch.js';
import { openBarePuts } from './bare-puts.js';
import { type Bench, type Figure, percentile } from './measure.js';
import { observedStore } from './observed-store.js';
import { onCoreClock } from './on-core.js';
import { openScheduleCell, workloadSpec } from './schedule-cell.js';
import { stormFigures } from './storm.js';

const nodes = 5_000;
const tenants = 20;
type Print = (figure: Figure) => void;

interface PathRun {
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

/** From workloads that are created until the last of their replicas is seen bound in the cache. */
async function wholePath(
  openStore: () => Promise<Store>,
  dir: string,
  replicas: number,
  isShared: boolean,
): Promise<PathRun> {
  mkdirSync(dir, { recursive: true });
  // What the run before left behind is not this one's.
  globalThis.gc?.();
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

async function onLmdb(print: Print, scratch: string): Promise<void> {
  const rates: number[] = [];
  for (const replicas of [1_000, 10_000, 100_000]) {
    const dir = join(scratch, `lmdb-${replicas}`);
    const run = await wholePath(
      () => LmdbStore.open({ dir: join(dir, 'store'), env: realEnv() }),
      ...([dir, replicas, false] as const),
    );
    rates.push(run.perSecond);
    const name = `${replicas.toLocaleString('en-US')} replicas`;
    const isFull = replicas === 100_000;
    print({
      ...{ name: `lmdb, ${name}: created until seen bound`, value: run.perSecond, unit: '/s' },
      ...(isFull && { target: { atLeast: 10_000 } }),
    });
    if (!isFull) continue;
    print({ name: 'lmdb: queued to bound, p50', value: run.p50Ms, unit: 'ms' });
    print({ name: 'lmdb: queued to bound, p99', value: run.p99Ms, unit: 'ms' });
    print({ name: 'lmdb: puts a replica', value: run.putsPerReplica, unit: '' });
    print({ name: 'lmdb: time of the main thread a replica', value: run.mainThreadUs, unit: 'µs' });
    const { ownMb, heapMb, mappedMb } = run.memory;
    print({ name: 'lmdb: memory of the process', value: ownMb, unit: 'MB', target: { atMost: 800 } });
    print({ name: 'lmdb: of it the heap that is in use', value: heapMb, unit: 'MB' });
    print({ name: 'lmdb: beside it pages of files, mapped', value: mappedMb, unit: 'MB' });
    print({
      name: 'lmdb: event loop delay, p99',
      value: run.loopDelayP99Ms,
      unit: 'ms',
      target: { atMost: 50 },
    });
  }
  const [first = 1, , last = 1] = rates;
  print({ name: 'lmdb: cost of a replica among 100,000 ÷ among 1,000', value: first / last, unit: '' });
}

async function onEtcd(print: Print, scratch: string): Promise<void> {
  const replicas = 20_000;
  const cluster = await startEtcd();
  const run = await wholePath(
    () => Promise.resolve(new EtcdStore({ endpoints: cluster.urls, env: realEnv() })),
    ...([join(scratch, 'etcd'), replicas, true] as const),
  );
  const barePuts = await openBarePuts(cluster.urls);
  const bare = await barePuts.perSecond(Math.round(run.bytesPerPut));
  const single = await barePuts.singlePerSecond(Math.round(run.bytesPerPut));
  barePuts.close();
  await cluster.stop();
  print({
    name: 'etcd, one member: puts of the same size, a hundred to a transaction',
    value: bare,
    unit: '/s',
  });
  print({ name: 'etcd: puts of the same size, one to a request', value: single, unit: '/s' });
  print({ name: 'etcd: puts a replica', value: run.putsPerReplica, unit: '' });
  print({
    name: `etcd, ${replicas.toLocaleString('en-US')} replicas: created until seen bound`,
    value: run.perSecond,
    unit: '/s',
    limit: { value: single / run.putsPerReplica, what: 'puts one to a request ÷ puts a replica' },
    target: { shareOfLimit: 0.5 },
  });
  print({
    ...{ name: 'etcd: the same beside puts by the hundred', value: run.perSecond, unit: '/s' },
    limit: { value: bare / run.putsPerReplica, what: 'puts by the hundred ÷ puts a replica' },
  });
  print({ name: 'etcd: queued to bound, p99', value: run.p99Ms, unit: 'ms' });
}

/** Two tenants with weights 1 and 3 that both want the whole cell: what they get of it. */
async function fairness(print: Print, scratch: string): Promise<void> {
  const dir = join(scratch, 'fair');
  mkdirSync(dir);
  const store = await LmdbStore.open({ dir: join(dir, 'store'), env: realEnv() });
  const cell = await openScheduleCell(store, realEnv(), { dir, nodes: 0, isShared: false, cpuPerNode: 10 });
  const { cache } = cell.controlPlane;
  for (const [tenant, weight] of [
    ['one', 1],
    ['three', 3],
  ] as const) {
    await cell.create('Tenant', undefined, tenant, { weight });
    await cell.create('Workload', tenant, 'work', workloadSpec(10_000));
  }
  while (cache.count('Replica') < 20_000) await realEnv().sleep(50);
  await cell.addNodes(100);
  await cell.bound(10_000);
  const account = cache.record('/a/tenant/one')?.value as TenantAccount | undefined;
  const used = account?.used.replicas ?? 0;
  await cell.close();
  print({
    ...{ name: 'weights 1 and 3, a full cell: how far the first is from 25 %', unit: 'points' },
    ...{ value: Math.abs(used / 100 - 25), target: { atMost: 2 } },
  });
}

export const scheduleBench: Bench = {
  name: 'schedule',
  title: `the whole path: workload created, replicas made, placed, bound, flushed, seen back; ${nodes} nodes`,
  async run(print) {
    const scratch = scratchDirectory('bench-schedule');
    try {
      await onLmdb(print, scratch.path);
      await onEtcd(print, scratch.path);
      await stormFigures(print, join(scratch.path, 'storm'), nodes);
      await fairness(print, scratch.path);
    } finally {
      scratch.remove();
    }
  },
};
