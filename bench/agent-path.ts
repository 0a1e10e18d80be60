import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BerthClient } from '../src/client/client.js';
import { readKubeconfig } from '../src/client/kubeconfig.js';
import { realEnv } from '../src/env/real.js';
import type { Replica } from '../src/model/kinds/replica.js';
import { type Figure, percentile } from './measure.js';
import { cpuMs, residentMiB } from './process-cost.js';
import { type ServerProcess, startServer, startUp } from './up-process.js';

const program = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));
const oneByOne = 30;
const atOnce = 200;
const idleMs = 20_000;
const inDefault = { group: 'berth.dev', version: 'v1', namespace: 'default' };
const workloads = { ...inDefault, plural: 'workloads' };
const replicas = { ...inDefault, plural: 'replicas' };

interface Cell {
  readonly client: BerthClient;
  readonly bound: BoundMoments;
  /** Where jobs write to. Theirs to write. */
  readonly dir: string;
}

/**
 * From bound to running through all parts: `berth up` without an agent, and `berth agent` beside it. From when a watch shows that a
 * replica is bound to when its own process says that it runs, in steps of the 10 ms that the kernel's clock has.
 */
export async function measureAgentPath(dir: string, print: (figure: Figure) => void): Promise<void> {
  const up = await startUp(join(dir, 'server'));
  const client = new BerthClient({
    access: await readKubeconfig({ path: join(dir, 'server', 'kubeconfig') }),
    env: realEnv(),
  });
  const agent = await startAgent(dir, up.url);
  const bound = new BoundMoments(client);
  const cell: Cell = { client, bound, dir: join(dir, 'begun') };
  mkdirSync(cell.dir);
  for (const each of [dirname(dir), cell.dir]) chmodSync(each, 0o777);
  try {
    const each: number[] = [];
    for (let job = 0; job < oneByOne; job++) each.push(...(await started(cell, `one-${job}`, 1)).eachMs);
    each.sort((a, b) => a - b);
    print({ name: 'bound → running, one at a time, p50', value: percentile(each, 0.5), unit: 'ms' });
    print({
      ...{ name: 'bound → running, one at a time, p99', value: percentile(each, 0.99), unit: 'ms' },
      target: { atMost: 150 },
    });
    print({
      ...{ name: `${atOnce} at once: first bound → all running`, unit: 'ms' },
      ...{ value: (await started(cell, 'all', atOnce)).allMs, target: { atMost: 2_000 } },
    });
    await printIdle(agent.pid, Number(readFileSync(join(dir, 'agent/supervisor/lock'), 'utf8')), print);
  } finally {
    bound.close();
    client.close();
    await agent.stop();
    await up.stop();
  }
}

async function startAgent(dir: string, url: string): Promise<ServerProcess> {
  const tokenFile = join(dir, 'token');
  const config = ['--config', join(dir, 'server', 'kubeconfig')];
  writeFileSync(tokenFile, execFileSync(process.execPath, [program, 'token', 'create', '--join', ...config]));
  mkdirSync(join(dir, 'agent'));
  const place = ['--dir', join(dir, 'agent'), '--name', 'bench-machine', '--stop-jobs'];
  return startServer([program, 'agent', '--server', url, '--token-file', tokenFile, ...place]);
}

/** When replicas were seen to be bound, by name, on the machine's boot time. */
class BoundMoments {
  readonly atMs = new Map<string, number>();
  readonly #stop = new AbortController();

  constructor(client: BerthClient) {
    void this.#follow(client).catch(() => undefined);
  }

  close(): void {
    this.#stop.abort();
  }

  async #follow(client: BerthClient): Promise<void> {
    for await (const event of client.listThenWatch<Replica>(replicas, { signal: this.#stop.signal })) {
      if (event.type === 'SYNCED' || event.type === 'DELETED') continue;
      const { metadata, status } = event.object;
      const isBound = status?.binding !== undefined;
      if (isBound && !this.atMs.has(metadata.name)) this.atMs.set(metadata.name, uptime() * 1_000);
    }
  }
}

/** Has a workload run whose replicas write down when they begin; milliseconds from bound to that, and from the first bound. */
async function started(
  { client, bound, dir }: Cell,
  name: string,
  count: number,
): Promise<{ readonly eachMs: readonly number[]; readonly allMs: number }> {
  const begun = join(dir, name);
  const job = 'read -r now rest </proc/uptime; echo "$BERTH_REPLICA $now" >>"$BEGUN"; exec sleep 86400';
  await client.create(workloads, {
    ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name, namespace: 'default' } },
    spec: {
      ...{ type: 'Service', replicas: count },
      template: {
        run: { process: { command: ['/bin/sh', '-c', job] }, env: [{ name: 'BEGUN', value: begun }] },
        resources: { cpu: '1m', memory: '4Mi' },
      },
    },
  });
  for (;;) {
    await sleep(50);
    const lines = existsSync(begun) ? readFileSync(begun, 'utf8').split('\n').slice(0, -1) : [];
    if (lines.length < count || lines.some((line) => !bound.atMs.has(line.split(' ')[0] ?? ''))) continue;
    const moments = lines.map((line) => {
      const [replica = '', now] = line.split(' ');
      return { boundMs: bound.atMs.get(replica) ?? 0, runsMs: Number(now) * 1_000 };
    });
    return {
      eachMs: moments.map(({ boundMs, runsMs }) => Math.max(0, runsMs - boundMs)),
      allMs:
        Math.max(...moments.map(({ runsMs }) => runsMs)) - Math.min(...moments.map(({ boundMs }) => boundMs)),
    };
  }
}

/** What agent and supervisor cost together while nothing happens. */
async function printIdle(agent: number, supervisor: number, print: (figure: Figure) => void): Promise<void> {
  await sleep(5_000);
  const both = (): number => cpuMs(agent) + cpuMs(supervisor);
  const before = both();
  await sleep(idleMs);
  print({
    ...{ name: `agent and supervisor of ${atOnce + oneByOne} idle jobs, processor`, unit: '% of a core' },
    ...{ value: ((both() - before) / idleMs) * 100, target: { atMost: 2 } },
  });
  print({
    ...{ name: 'the same, memory', value: residentMiB(agent) + residentMiB(supervisor), unit: 'MiB' },
    target: { atMost: 150 },
  });
}
