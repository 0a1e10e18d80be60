import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { realEnv } from '../src/env/real.js';
import type { TenantAccount } from '../src/model/records.js';
import { EtcdStore } from '../src/store/etcd.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { startEtcd } from '../testing/etcd-server.js';
import { scratchDirectory } from '../testing/scratch.js';
import { openBarePuts } from './bare-puts.js';
import { lookUpNs } from './look-ups.js';
import { type Bench, type Figure, middle } from './measure.js';
import { OwnProcess } from './own-process.js';
import type { PathChildOptions } from './path-child.js';
import { openScheduleCell, workloadSpec } from './schedule-cell.js';
import { stormFigures } from './storm.js';
import { type PathRun, wholePath } from './whole-path.js';

const nodes = 5_000;
type Print = (figure: Figure) => void;

// A machine that is shared is not the same from one minute to the next: the middle one of so many counts.
const fullRuns = 3;
// So many replicas are placed before, in another cell of the process: a server that has just started compiles what it runs.
const warmUp = 10_000;

async function onLmdb(print: Print, scratch: string): Promise<void> {
  const once = async (replicas: number, number = 1): Promise<PathRun> => {
    const dir = join(scratch, `lmdb-${replicas}-${number}`);
    const options: PathChildOptions = { dir, nodes, replicas, isShared: false, warmUp };
    const path = new OwnProcess(new URL('path-child.js', import.meta.url), options);
    const run = await path.answer<PathRun>();
    await path.close();
    return run;
  };
  const name = (replicas: number): string =>
    `lmdb, ${replicas.toLocaleString('en-US')} replicas: created until seen bound`;
  const few = await once(1_000);
  print({ name: name(1_000), value: few.perSecond, unit: '/s' });
  print({ name: name(10_000), value: (await once(10_000)).perSecond, unit: '/s' });
  const runs: PathRun[] = [];
  for (let number = 1; number <= fullRuns; number++) runs.push(await once(100_000, number));
  const usual = (of: (run: PathRun) => number): number => middle(runs.map(of));
  const perSecond = usual((run) => run.perSecond);
  print({ name: name(100_000), value: perSecond, unit: '/s', target: { atLeast: 10_000 } });
  print({
    ...{ name: `lmdb: the best of ${fullRuns}`, unit: '/s' },
    value: Math.max(...runs.map((run) => run.perSecond)),
  });
  print({ name: 'lmdb: queued to bound, p50', value: usual((run) => run.p50Ms), unit: 'ms' });
  print({ name: 'lmdb: queued to bound, p99', value: usual((run) => run.p99Ms), unit: 'ms' });
  print({ name: 'lmdb: puts a replica', value: usual((run) => run.putsPerReplica), unit: '' });
  print({
    ...{ name: 'lmdb: time of the main thread a replica', unit: 'µs' },
    value: usual((run) => run.mainThreadUs),
  });
  const mb = (what: string, of: (memory: PathRun['memory']) => number, atMost?: number): void =>
    print({
      ...{ name: `lmdb: ${what}`, value: usual(({ memory }) => of(memory)), unit: 'MB' },
      ...(atMost !== undefined && { target: { atMost } }),
    });
  mb('memory of the process', ({ ownMb }) => ownMb, 800);
  mb('of it the heap that is in use', ({ heapMb }) => heapMb);
  mb('beside it pages of files, mapped', ({ mappedMb }) => mappedMb);
  print({
    ...{ name: 'lmdb: event loop delay, p99', unit: 'ms', target: { atMost: 50 } },
    value: usual((run) => run.loopDelayP99Ms),
  });
  print({
    ...{ name: 'lmdb: cost of a replica among 100,000 ÷ among 1,000', unit: '' },
    value: few.perSecond / perSecond,
  });
}

async function onEtcd(print: Print, scratch: string): Promise<void> {
  const replicas = 20_000;
  const cluster = await startEtcd();
  const run = await wholePath(
    () => Promise.resolve(new EtcdStore({ endpoints: cluster.urls, env: realEnv() })),
    { dir: join(scratch, 'etcd'), nodes, replicas, isShared: true },
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
      print({ name: 'the machine: a look-up among 500,000 keys', value: lookUpNs(), unit: 'ns' });
      globalThis.gc?.();
      await onLmdb(print, scratch.path);
      await onEtcd(print, scratch.path);
      await stormFigures(print, join(scratch.path, 'storm'), nodes);
      await fairness(print, scratch.path);
    } finally {
      scratch.remove();
    }
  },
};
