import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { scratchDirectory } from '../testing/scratch.js';
import type { CellShape } from './bind-cell.js';
import type { BindChildOptions, BindRound } from './bind-child.js';
import { bindConflicts } from './bind-conflicts.js';
import { bindOnEtcd } from './bind-etcd.js';
import { type Bench, type Figure } from './measure.js';
import { OwnProcess } from './own-process.js';

const nodes = 5_000;
const tenants = 20;
const bindsPerRound = 10_000;
const rounds = 5;
// A server that has just started compiles what it runs: one round more, which is not counted.
const roundsWithWarmUp = rounds + 1;
const [fewCharged, manyCharged] = [10, 100_000];

/** A cell in a process of its own: its garbage is nobody else's. */
async function openCell(dir: string, shape: Omit<CellShape, 'nodes'>) {
  const options: BindChildOptions = { dir, shape: { ...shape, nodes }, bindsPerRound };
  mkdirSync(dir, { recursive: true });
  const cell = new OwnProcess(new URL('bind-child.js', import.meta.url), options);
  await cell.answer();
  return { round: () => cell.ask<BindRound>('round'), close: () => cell.close() };
}

const median = <T>(list: readonly T[], by: (one: T) => number): T =>
  list.toSorted((a, b) => by(a) - by(b))[Math.floor(list.length / 2)] as T;
const best = (list: readonly BindRound[]): number => Math.max(...list.map(({ perSecond }) => perSecond));
const speed = ({ perSecond }: BindRound): number => perSecond;

async function bindOnLmdb(print: (figure: Figure) => void): Promise<void> {
  const scratch = scratchDirectory('bench-bind');
  const open = (name: string, shape: Omit<CellShape, 'nodes'>) => openCell(join(scratch.path, name), shape);
  const replicas = roundsWithWarmUp * bindsPerRound;
  const spread = await open('spread', { tenants, replicas });
  const hot = await open('hot', { tenants: 1, replicas, chargedBefore: fewCharged });
  const large = await open('large', { tenants: 1, replicas, chargedBefore: manyCharged });
  const runs = { spread: [] as BindRound[], hot: [] as BindRound[], large: [] as BindRound[] };
  for (const cell of [spread, hot, large]) await cell.round();
  for (let round = 0; round < rounds; round++) {
    runs.spread.push(await spread.round());
    runs.hot.push(await hot.round());
    runs.large.push(await large.round());
  }
  const usual = median(runs.spread, speed);
  const rawUsual = median(runs.spread, ({ rawPerSecond }) => rawPerSecond).rawPerSecond;
  print({
    name: `${tenants} tenants: binds, flushed`,
    value: usual.perSecond,
    unit: '/s',
    limit: { value: rawUsual, what: 'raw lmdb, the same puts and flushes' },
    target: { atLeast: 20_000 },
  });
  print({ name: `${tenants} tenants: the best of ${rounds} rounds`, value: best(runs.spread), unit: '/s' });
  print({ name: 'processor time a bind', value: usual.cpuMicrosPerBind, unit: 'µs' });
  print({ name: 'puts a bind', value: usual.puts / bindsPerRound, unit: '' });
  print({ name: 'bytes a bind', value: usual.bytes / bindsPerRound, unit: '' });
  print({ name: 'binds a transaction', value: bindsPerRound / usual.transactions, unit: '' });
  print({ name: 'binds a flush', value: bindsPerRound / usual.flushes, unit: '' });
  const hotUsual = median(runs.hot, speed);
  const largeUsual = median(runs.large, speed);
  print({
    name: 'one hot tenant: binds, flushed',
    value: hotUsual.perSecond,
    unit: '/s',
    limit: { value: usual.perSecond, what: `${tenants} tenants` },
    target: { shareOfLimit: 0.8 },
  });
  print({
    name: `a tenant with ${manyCharged.toLocaleString('en-US')} replicas charged: binds`,
    value: largeUsual.perSecond,
    unit: '/s',
    limit: { value: hotUsual.perSecond, what: `one with ${fewCharged}` },
    target: { shareOfLimit: 0.8 },
  });
  // Says on a busy machine what the rates do not.
  print({ name: 'one hot tenant: processor time a bind', value: hotUsual.cpuMicrosPerBind, unit: 'µs' });
  print({
    name: `${manyCharged.toLocaleString('en-US')} charged: processor time a bind`,
    value: largeUsual.cpuMicrosPerBind,
    unit: 'µs',
  });
  for (const cell of [spread, hot, large]) await cell.close();
  scratch.remove();
}

export const bindBench: Bench = {
  name: 'bind',
  title: `the authority alone: binds of generated proposals, ${nodes} nodes, in batches of 1,000`,
  async run(print) {
    await bindOnLmdb(print);
    await bindOnEtcd(print, { nodes, tenants });
    await bindConflicts(print);
  },
};
