import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BerthClient } from '../src/client/client.js';
import { readKubeconfig } from '../src/client/kubeconfig.js';
import { realEnv } from '../src/env/real.js';
import type { Figure } from './measure.js';
import { cpuMs } from './process-cost.js';
import { startServer, startUp } from './up-process.js';

const program = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));
const nodes = 5_000;
const measuredMs = 30_000;

/** What it costs a server that thousands of nodes renew, over TLS and from another process. */
export async function measureRenewals(dir: string, print: (figure: Figure) => void): Promise<void> {
  mkdirSync(dir);
  const up = await startUp(join(dir, 'server'));
  const kubeconfig = join(dir, 'server', 'kubeconfig');
  const client = new BerthClient({ access: await readKubeconfig({ path: kubeconfig }), env: realEnv() });
  const config = ['--config', kubeconfig];
  const tokenFile = join(dir, 'token');
  const identity = ['--identity', 'hollow:hollow-'];
  writeFileSync(
    tokenFile,
    execFileSync(process.execPath, [program, 'token', 'create', ...identity, ...config]),
  );
  const fleet = await startServer([
    ...[program, 'hollow', '--count', String(nodes), '--token-file', tokenFile, ...config],
  ]);
  try {
    // All have registered and found their pace: those that came together do not go on together.
    await sleep(30_000);
    const transactions = async (): Promise<number> => {
      for await (const line of client.lines('/metrics', new URLSearchParams())) {
        const count = /^berth_store_transaction_duration_seconds_count\{outcome="Committed"\} (\d+)/.exec(
          line,
        )?.[1];
        if (count !== undefined) return Number(count);
      }
      throw new Error('the server does not count its transactions');
    };
    const [cpuBefore, before] = [cpuMs(up.pid), await transactions()];
    await sleep(measuredMs);
    const after = await transactions();
    print({
      ...{
        name: `renewals of ${nodes.toLocaleString('en-US')} nodes, processor of the server`,
        unit: '% of a core',
      },
      ...{ value: ((cpuMs(up.pid) - cpuBefore) / measuredMs) * 100, target: { atMost: 25 } },
    });
    print({
      ...{ name: 'the same, transactions', value: ((after - before) / measuredMs) * 1_000, unit: '/s' },
      target: { atMost: 200 },
    });
  } finally {
    client.close();
    await fleet.stop();
    await up.stop();
  }
}
