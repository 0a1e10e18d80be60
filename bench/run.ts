import { spawnSync } from 'node:child_process';
import { availableParallelism, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
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
import { startBench } from './start.js';
import { watchBench } from './watch.js';

const benches: readonly Bench[] = [
  apiBench,
  lmdbBench,
  etcdBench,
  watchBench,
  openBench,
  startBench,
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
const missedCode = 4;

/** Prints its figures, and where the time went if one of them misses its target. */
async function run(bench: Bench): Promise<void> {
  print(`\n${bench.name}: ${bench.title}`);
  const misses: Figure[] = [];
  await bench.run((figure) => {
    print(shownFigure(figure));
    if (isMissed(figure)) misses.push(figure);
  });
  if (misses.length === 0) return;
  process.exitCode = missedCode;
  print(`  where the time of the main thread goes (the bench once more, under the profiler):`);
  for (const line of await profiled(() => bench.run(() => undefined))) print(`    ${line}`);
}

const wanted = benches.filter(({ name }) => asked.length === 0 || asked.includes(name));
const [only] = wanted;
const isPart = process.env['BERTH_BENCH_PART'] !== undefined;
if (!isPart)
  print(
    `node ${process.versions.node}, ${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB. ` +
      'Absolute times on a shared machine mean little: read each figure beside its limit.',
  );
if (wanted.length === 1 && only !== undefined) await run(only);
else
  // Each in a process of its own: memory and garbage that one leaves behind are not measured with the next.
  for (const { name } of wanted) {
    const words = [...process.execArgv, fileURLToPath(import.meta.url), name];
    const env = { ...process.env, BERTH_BENCH_PART: '1' };
    const { status } = spawnSync(process.execPath, words, { stdio: 'inherit', env });
    // One that did not get to its figures is worse than one that missed them.
    if (status === missedCode) process.exitCode ??= missedCode;
    else if (status !== 0) process.exitCode = 1;
  }
