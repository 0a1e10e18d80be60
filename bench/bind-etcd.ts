import { realEnv } from '../src/env/real.js';
import { EtcdStore } from '../src/store/etcd.js';
import { startEtcd } from '../testing/etcd-server.js';
import { openBarePuts } from './bare-puts.js';
import { openBindCell } from './bind-cell.js';
import { bindAll, type BindLoad, WriteRecorder } from './bind-load.js';
import type { Figure } from './measure.js';

// As many as on lmdb: the first and last transactions of a round, which have nothing to overlap with, are few among them.
const bindsPerRound = 10_000;
const rounds = 3;
// The first is not counted: a server that has just started compiles what it runs.
const roundsWithWarmUp = rounds + 1;

const middle = (list: readonly number[]): number =>
  list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] as number;

/** Binds on one etcd member beside what that member takes in bare puts of the same size. */
export async function bindOnEtcd(
  print: (figure: Figure) => void,
  shape: { readonly nodes: number; readonly tenants: number },
): Promise<void> {
  const cluster = await startEtcd();
  const env = realEnv();
  const store = new EtcdStore({ endpoints: cluster.urls, env });
  const recorder = new WriteRecorder();
  const cell = await openBindCell(
    recorder.over(store),
    env,
    { ...shape, replicas: roundsWithWarmUp * bindsPerRound },
    { mayChain: false },
  );
  const barePuts = await openBarePuts(cluster.urls);
  const runs: BindLoad[] = [];
  const bare: number[] = [];
  const single: number[] = [];
  let puts = 0;
  let transactions = 0;
  const bindRound = (round: number): Promise<BindLoad> =>
    bindAll(cell, cell.proposals.slice(round * bindsPerRound, (round + 1) * bindsPerRound));
  await bindRound(0);
  for (let round = 1; round < roundsWithWarmUp; round++) {
    recorder.start();
    runs.push(await bindRound(round));
    const written = recorder.stop();
    puts += written.puts;
    transactions += written.transactions;
    const valueBytes = Math.round(written.bytes / written.puts);
    bare.push(await barePuts.perSecond(valueBytes));
    single.push(await barePuts.singlePerSecond(valueBytes));
  }
  const bound = rounds * bindsPerRound;
  const putsPerBind = puts / bound;
  const binds = middle(runs.map(({ perSecond }) => perSecond));
  print({
    name: 'etcd, one member: puts of the same size, a hundred to a transaction',
    value: middle(bare),
    unit: '/s',
  });
  print({ name: 'etcd: puts of the same size, one to a request', value: middle(single), unit: '/s' });
  print({ name: 'etcd: puts a bind', value: putsPerBind, unit: '' });
  print({ name: 'etcd: binds a transaction', value: bound / transactions, unit: '' });
  print({
    name: 'etcd: binds',
    value: binds,
    unit: '/s',
    limit: { value: middle(single) / putsPerBind, what: 'puts one to a request ÷ puts a bind' },
    target: { shareOfLimit: 0.5 },
  });
  print({
    name: 'etcd: binds beside puts by the hundred',
    value: binds,
    unit: '/s',
    limit: { value: middle(bare) / putsPerBind, what: 'puts by the hundred ÷ puts a bind' },
  });
  print({
    name: 'etcd: processor time a bind, without etcd’s own',
    value: middle(runs.map(({ cpuMicrosPerBind }) => cpuMicrosPerBind)),
    unit: 'µs',
  });
  await cell.cache.close();
  await store.close();
  barePuts.close();
  await cluster.stop();
}
