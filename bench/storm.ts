import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { realEnv } from '../src/env/real.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { type Figure, middle } from './measure.js';
import { onCoreClock } from './on-core.js';
import { openScheduleCell, type ScheduleCell, workloadSpec } from './schedule-cell.js';

const [stormReplicas, stormWorkloads] = [50_000, 10];
// Each waits for some two hundred flushes, and the disk is not always as fast: the middle one counts.
const rounds = 7;
// Long enough for a cell that has just started to come to rest.
const restMs = 5_000;
// A storm is then still being told why it waits; past a minute everybody would meet the first resync as well.
const laterMs = 10_000;

interface Taken {
  readonly ms: number;
  /** Of the main thread, on a core. */
  readonly onCoreMs: number;
}

/**
 * 1,000 replicas in 100 workloads, created one after the other, until they are seen bound: in a cell at rest, and in
 * the same cell while 50,000 that no node is large enough for are being created, when they are all there, and later.
 */
export async function stormFigures(
  print: (figure: Figure) => void,
  dir: string,
  nodes: number,
): Promise<void> {
  mkdirSync(dir);
  const env = realEnv();
  const store = await LmdbStore.open({ dir: join(dir, 'store'), env });
  const cell = await openScheduleCell(store, env, { dir, nodes, isShared: false, cpuPerNode: 64 });
  const place = placer(cell);
  await env.sleep(restMs);
  // What is not compiled yet would make the first ones look slow, and what comes after them fast.
  await place(1);
  const alone = await place(rounds);
  for (let at = 0; at < stormWorkloads; at++)
    await cell.create(
      ...(['Workload', 'default', `storm-${at}`] as const),
      workloadSpec(stormReplicas / stormWorkloads, '1000'),
    );
  const whileCreated = await place(1);
  const { cache } = cell.controlPlane;
  while (cache.count('Replica', 'default') < stormReplicas + (2 + rounds) * 1_000) await env.sleep(50);
  const justThere = await place(rounds);
  await env.sleep(laterMs);
  const later = await place(rounds);
  await cell.close();
  const lost = (now: number, before: number): number => Math.max(0, (100 * (now - before)) / before);
  const [name, unit] = ['1,000 that fit', '%'] as const;
  print({ name: `${name}, alone`, value: alone.ms, unit: 'ms' });
  print({ name: `${name}, alone: main thread`, value: alone.onCoreMs, unit: 'ms' });
  for (const [beside, taken] of [
    ['50,000 that do not: time lost', justThere],
    ['50,000 that do not, ten seconds later: time lost', later],
  ] as const) {
    print({
      ...{ name: `${name}, beside ${beside}`, value: lost(taken.ms, alone.ms), unit },
      target: { atMost: 20 },
    });
    print({
      ...{ name: `${name}, beside ${beside} by the main thread`, unit },
      value: lost(taken.onCoreMs, alone.onCoreMs),
    });
  }
  print({
    ...{ name: `${name}, while 50,000 that do not are being created: time lost`, unit },
    value: lost(whileCreated.ms, alone.ms),
  });
}

/** Places 1,000 replicas so many times, one time after the other. What the middle one took. */
function placer(cell: ScheduleCell): (times: number) => Promise<Taken> {
  const onCoreMs = onCoreClock();
  let placed = 0;
  const once = async (): Promise<Taken> => {
    const [fromMs, fromOnCoreMs] = [performance.now(), onCoreMs()];
    for (let at = 0; at < 100; at++)
      await cell.create('Workload', 'default', `fits-${placed}-${at}`, workloadSpec(10));
    placed += 1;
    await cell.bound(placed * 1_000);
    return { ms: performance.now() - fromMs, onCoreMs: onCoreMs() - fromOnCoreMs };
  };
  return async (times) => {
    const taken: Taken[] = [];
    for (let at = 0; at < times; at++) taken.push(await once());
    return {
      ms: middle(taken.map(({ ms }) => ms)),
      onCoreMs: middle(taken.map(({ onCoreMs: each }) => each)),
    };
  };
}
