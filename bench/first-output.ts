import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Figure, middle } from './measure.js';

const rounds = 15;
const program = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));

/** How soon commands say their first word, in turns with Node itself. */
export async function measureFirstOutput(print: (figure: Figure) => void, dir: string): Promise<void> {
  const node = { words: ['--eval', 'process.stdout.write("x")'], tookMs: [] as number[] };
  const commands = [['--help'], ['get', 'tenants']].map((words) => ({
    words: [program, ...words],
    name: `berth ${words.join(' ')}`,
    tookMs: [] as number[],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const { words, tookMs } of [node, ...commands])
      tookMs.push(await firstOutputMs(words, `${dir}/kubeconfig`));
  }
  for (const { name, tookMs } of commands) {
    print({
      name: `first output of ${name}, middle of ${rounds}`,
      value: middle(tookMs),
      unit: 'ms',
      limit: { value: middle(node.tookMs), what: 'Node itself' },
      target: { atMost: 150 },
    });
  }
}

function firstOutputMs(words: readonly string[], config: string): Promise<number> {
  const startedAt = performance.now();
  const env = { PATH: process.env['PATH'], BERTH_CONFIG: config };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let tookMs: number | undefined;
  child.stdout.once('data', () => {
    tookMs = performance.now() - startedAt;
  });
  return new Promise((resolve, reject) => {
    child.once('close', () =>
      tookMs === undefined ? reject(new Error(`${words.join(' ')} said nothing`)) : resolve(tookMs),
    );
  });
}
