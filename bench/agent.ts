import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProcessRunner } from '../src/agent/drivers/process-runner.js';
import type { Launch } from '../src/agent/runner.js';
import { realEnv } from '../src/env/real.js';
import { openProcessRunner } from '../src/main/process-runner.js';
import { measureAgentPath } from './agent-path.js';
import { type Bench, percentile } from './measure.js';
import { measureRenewals } from './renewals.js';

const oneByOne = 100;
const atOnce = 200;

/** What it costs to run jobs as processes: through their supervisor alone, then through everything; and to renew many nodes. */
export const agentBench: Bench = {
  name: 'agent',
  title:
    'starting processes through their supervisor and through all parts, what it costs to have them, and renewals',
  run: async (print) => {
    const dir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
    const runner = await openProcessRunner({
      dir,
      node: 'bench',
      env: realEnv(),
      onProblem: () => undefined,
      onJournalLost: () => undefined,
    });
    try {
      const starts = new Starts(runner);
      const each: number[] = [];
      for (let job = 0; job < oneByOne; job++) each.push(await starts.run([`one-${job}`]));
      each.sort((a, b) => a - b);
      print({ name: 'asked for → running, one at a time, p50', value: percentile(each, 0.5), unit: 'ms' });
      print({
        ...{ name: 'asked for → running, one at a time, p99', value: percentile(each, 0.99), unit: 'ms' },
        target: { atMost: 150 },
      });
      await starts.stopAll();
      const bareMs = await bareSpawns(atOnce);
      print({
        name: `${atOnce} at once, until all run`,
        value: await starts.run(Array.from({ length: atOnce }, (_, job) => `all-${job}`)),
        unit: 'ms',
        limit: { value: bareMs, what: 'as many bare processes of Node' },
        target: { atMost: 2_000 },
      });
    } finally {
      await runner.end(0);
    }
    mkdirSync(join(dir, 'path'));
    await measureAgentPath(join(dir, 'path'), print);
    await measureRenewals(join(dir, 'renewals'), print);
    rmSync(dir, { recursive: true, force: true });
  },
};

/** Starts jobs and waits until they run. */
class Starts {
  readonly #waiting = new Map<string, () => void>();
  readonly #ending = new Map<string, () => void>();

  constructor(private readonly runner: ProcessRunner) {
    runner.attach(({ kind, uid }) => {
      if (kind === 'Running') this.#waiting.get(uid)?.();
      if (kind === 'Ended') this.#ending.get(uid)?.();
    });
  }

  async run(uids: readonly string[]): Promise<number> {
    const begun = performance.now();
    const all = uids.map((uid) => new Promise<void>((resolve) => this.#waiting.set(uid, resolve)));
    for (const uid of uids) this.runner.start(launchOf(uid));
    await Promise.all(all);
    return performance.now() - begun;
  }

  async stopAll(): Promise<void> {
    const uids = [...this.runner.list()].map(({ uid }) => uid);
    const all = uids.map((uid) => new Promise<void>((resolve) => this.#ending.set(uid, resolve)));
    for (const uid of uids) this.runner.stop(uid, 5);
    await Promise.all(all);
    for (const uid of uids) this.runner.forget(uid);
  }
}

const launchOf = (uid: string): Launch => ({
  binding: {
    ...{ replica: { tenant: 'bench', name: uid, uid }, workload: 'bench', slot: '0', revision: 'bench-1' },
    ...{ fence: '1', type: 'Service', isFenced: false, stage: 'Bound', version: 1 },
    template: { run: { process: { command: ['sleep', '3600'] } }, resources: { cpu: '10m', memory: '16Mi' } },
  },
  ...{ execution: 1, command: ['sleep', '3600'], args: undefined, env: {} },
});

/** The same number of processes without anything around them. */
async function bareSpawns(count: number): Promise<number> {
  const begun = performance.now();
  const children = Array.from({ length: count }, () => spawn('sleep', ['3600'], { stdio: 'ignore' }));
  await Promise.all(children.map((child) => new Promise((resolve) => child.once('spawn', resolve))));
  const tookMs = performance.now() - begun;
  for (const child of children) child.kill('SIGKILL');
  return tookMs;
}
