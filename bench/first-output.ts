import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../testing/source-tree.js';
import type { Figure } from './measure.js';

const rounds = 20;
const npxRounds = 5;
const targetMs = 150;
const program = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));

interface Started {
  readonly name: string;
  readonly words: readonly [string, ...string[]];
  readonly tookMs: number[];
}

const started = (name: string, ...words: readonly [string, ...string[]]): Started => ({
  name,
  words,
  tookMs: [],
});

/**
 * The time from the start of a process to its first output, of Berth and of Node itself in turns. The least of many rounds:
 * whatever else the machine does can only add to it.
 */
export async function measureFirstOutput(print: (figure: Figure) => void, dir: string): Promise<void> {
  const config = `${dir}/kubeconfig`;
  const says = 'process.stdout.write("x")';
  const node = started('node', process.execPath, '--eval', says);
  const commands = [['--help'], ['version'], ['get', 'tenants']].map((words) =>
    started(`berth ${words.join(' ')}`, process.execPath, program, ...words),
  );
  await inTurns(rounds, [node, ...commands], config);
  for (const { name, tookMs } of commands) {
    print({
      name: `first output of ${name}, least of ${rounds}`,
      value: Math.min(...tookMs),
      unit: 'ms',
      limit: { value: Math.min(...node.tookMs), what: 'Node itself' },
      target: { atMost: targetMs },
    });
  }
  // Without a target, because npm takes nearly all of the time.
  const bare = started('npx node', 'npx', '--offline', '-c', `node --eval '${says}'`);
  const npx = started('npx berth', 'npx', '--offline', 'berth', '--help');
  await inTurns(npxRounds, [bare, npx], config);
  print({
    name: `first output of npx berth --help, least of ${npxRounds}`,
    value: Math.min(...npx.tookMs),
    unit: 'ms',
    limit: { value: Math.min(...bare.tookMs), what: 'npx with Node itself' },
  });
}

async function inTurns(times: number, all: readonly Started[], config: string): Promise<void> {
  for (let round = 0; round < times; round++)
    for (const { words, tookMs } of all) tookMs.push(await firstOutputMs(words, config));
}

function firstOutputMs([command, ...words]: Started['words'], config: string): Promise<number> {
  const startedAt = performance.now();
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], BERTH_CONFIG: config };
  const child = spawn(command, words, { env, cwd: projectRoot, stdio: ['ignore', 'pipe', 'ignore'] });
  let tookMs: number | undefined;
  child.stdout.once('data', () => {
    tookMs = performance.now() - startedAt;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () =>
      tookMs === undefined
        ? reject(new Error(`${[command, ...words].join(' ')} printed nothing`))
        : resolve(tookMs),
    );
  });
}
