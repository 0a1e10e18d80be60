import { availableParallelism, totalmem } from 'node:os';
import { agentBench } from './agent.js';
import { apiBench } from './api.js';
import { bindBench } from './bind.js';
import { decideBench } from './decide.js';
import { detectBench } from './detect.js';
import { etcdBench } from './etcd.js';
import { lmdbBench } from './lmdb.js';
import { type Bench, type Figure, isMissed, shownFigure } from './measure.js';
import { openBench } from './open.js';
import { preemptBench } from './preempt.js';
import { profiled } from './profile.js';
import { scheduleBench } from './schedule.js';
import { simulateBench } from './simulate.js';
import { watchBench } from './watch.js';

const benches: readonly Bench[] = [
  apiBench,
  lmdbBench,
  etcdBench,
  watchBench,
  openBench,
  bindBench,
  decideBench,
  scheduleBench,
  preemptBench,
  simulateBench,
  agentBench,
  detectBench,
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `no bench ${unknown.join(', ')}; there are ${benches.map((bench) => bench.name).join(', ')}\n`,
  );
  process.exit(64);
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(
  `node ${process.versions.node}, ${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB. ` +
    'Absolute times on a shared machine mean little: read each figure beside its limit.',
);
let missed = 0;
for (const bench of benches) {
  if (asked.length > 0 && !asked.includes(bench.name)) continue;
  print(`\n${bench.name}: ${bench.title}`);
  const misses: Figure[] = [];
  await bench.run((figure) => {
    print(shownFigure(figure));
    if (isMissed(figure)) misses.push(figure);
  });
  missed += misses.length;
  if (misses.length > 0) {
    print(`  where the time of the main thread goes (the bench once more, under the profiler):`);
    for (const line of await profiled(() => bench.run(() => undefined))) print(`    ${line}`);
  }
}
process.exitCode = missed > 0 ? 4 : 0;
