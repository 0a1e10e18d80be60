import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childrenOf, signal } from '../agent/process/proc.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import { fenceContract } from '../model/fence-contract.js';
import { readLines } from '../model/read-lines.js';
import { fenceKey } from '../model/records.js';
import { LmdbStore } from '../store/lmdb.js';
import { fixturePath, run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { startProxy, type TcpProxy } from '../../testing/tcp-proxy.js';
import { env, until } from './process-runner.fixture.js';
import { startServerIn, type TestServer } from './running.fixture.js';

/**
 * A fence that is short enough to wait for and has room for a machine that is busy with other tests. κ and σ together are
 * the time that a supervisor has to end a job.
 */
const fence = {
  ...fenceContract,
  ...{ permitSeconds: 5, graceSeconds: 2, killMarginSeconds: 1, stallSecondsMax: 4, windowSeconds: 9.2 },
};

/** How an agent is made silent, and heard again. */
type Fault =
  | 'the agent is killed'
  | 'the agent is stopped'
  | 'the agent is cut off'
  | 'the supervisor is killed';

let scratch: ReturnType<typeof scratchDirectory>;
let server: TestServer;
const agents: Agent[] = [];

/** One machine: its own directory, its own way to the server. */
class Agent {
  #child: ChildProcess | undefined;
  supervisor = 0;

  constructor(
    readonly node: string,
    readonly zone: string,
    private readonly kubeconfig: string,
    private readonly proxy: TcpProxy,
  ) {}

  get #dir(): string {
    return join(scratch.path, this.node);
  }

  async start(): Promise<void> {
    const program = fixturePath(import.meta.url, 'fenced-agent.fixture.js');
    const url = `https://127.0.0.1:${this.proxy.port}`;
    mkdirSync(this.#dir, { recursive: true });
    const words = [program, this.#dir, this.node, this.zone, this.kubeconfig, url];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    for await (const line of readLines(child.stdout)) {
      ({ supervisor: this.supervisor } = JSON.parse(line) as { supervisor: number });
      return;
    }
    throw new Error(`${this.node} ended before it began`);
  }

  async strike(fault: Fault): Promise<void> {
    if (fault === 'the supervisor is killed') process.kill(this.supervisor, 'SIGKILL');
    if (fault === 'the agent is killed') await this.#end();
    if (fault === 'the agent is stopped') this.#child?.kill('SIGSTOP');
    if (fault === 'the agent is cut off') this.proxy.mode = 'blackhole';
  }

  async heal(fault: Fault): Promise<void> {
    if (fault === 'the agent is stopped') this.#child?.kill('SIGCONT');
    if (fault === 'the agent is cut off') {
      this.proxy.mode = 'pass';
      this.proxy.cut();
    }
    // Its supervisor is another one by now: which, the next life says.
    if (fault === 'the supervisor is killed') await this.#end();
    if (fault === 'the agent is killed' || fault === 'the supervisor is killed') await this.start();
  }

  async close(): Promise<void> {
    await this.#end();
    process.kill(this.supervisor, 'SIGTERM');
    await this.proxy.close();
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

/** One execution, as the lines that it wrote tell: which, and from when to when on the machine's boot time. */
interface Interval {
  readonly who: string;
  readonly node: string;
  readonly from: number;
  readonly to: number;
}

const witnessPath = (pair: string): string => join(scratch.path, `witness-${pair}`);

function intervals(pair: string): Interval[] {
  let text = '';
  try {
    text = readFileSync(witnessPath(pair), 'utf8');
  } catch {
    return [];
  }
  const found = new Map<string, Interval>();
  // What follows the last line end is being written.
  for (const line of text.split('\n').slice(0, -1)) {
    const [who = '', node = '', at] = line.split(' ');
    const seconds = Number(at);
    const known = found.get(who);
    found.set(who, { who, node, from: known?.from ?? seconds, to: seconds });
  }
  return [...found.values()];
}

/** Appends (which execution, which host, boot time) every 10 ms. */
const job = `while :; do read -r now rest </proc/uptime; echo "$BERTH_REPLICA/$BERTH_EXECUTION $BERTH_NODE $now" >>"$FILE"; sleep 0.01; done`;

const workload = (pair: string) => ({
  ...{ apiVersion: 'berth.dev/v1', kind: 'Workload' },
  metadata: { name: `once-${pair}`, namespace: 'default' },
  spec: {
    type: 'Service',
    replicas: 1,
    template: {
      run: {
        process: { command: ['/bin/sh', '-c', job] },
        env: [{ name: 'FILE', value: witnessPath(pair) }],
      },
      resources: { cpu: '100m', memory: '64Mi' },
      execution: 'AtMostOne',
      terminationGraceSeconds: 1,
    },
    placement: { nodeSelector: { pair } },
    onNodeLost: { action: 'Fence' },
  },
});

const overrunOf = (
  kind: 'Replica' | 'Node',
  namespace: string | undefined,
  name: string,
): string | undefined =>
  server.objects
    .get<Replica | Node>(kind, namespace, name)
    ?.status?.conditions?.find(({ type, status }) => type === 'FenceOverrun' && status === 'True')?.message;

/** A process and all below it, those in namespaces of their own too. */
const withDescendants = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(withDescendants)];

/** Which execution has written within the last moments. */
function runsNow(pair: string): Interval | undefined {
  const now = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  return intervals(pair).find(({ to }) => now - to < 0.5);
}

beforeAll(async () => {
  scratch = scratchDirectory('fence');
  const dir = join(scratch.path, 'server');
  mkdirSync(join(dir, 'store'), { recursive: true });
  // As a cell that was set to this long ago: a window is only lowered after the one before has passed.
  const store = await LmdbStore.open({ dir: join(dir, 'store'), env });
  const value = Buffer.from(JSON.stringify({ ...fence, operation: 'test' }));
  await store.transact({ guards: [], writes: [{ kind: 'put', key: fenceKey, value }] });
  await store.close();
  // Hollow nodes stand around, so that two silent ones are not half of the cell.
  server = await startServerIn(dir, { hollow: 8 });
  for (const [node, zone] of [
    ['a1', 'a'],
    ['a2', 'a'],
    ['b1', 'b'],
    ['b2', 'b'],
  ] as const) {
    const kubeconfig = await server.kubeconfigFor({ kind: 'node', node });
    const proxy = await startProxy(Number(new URL(server.url).port));
    agents.push(new Agent(node, zone, kubeconfig, proxy));
  }
  await Promise.all(agents.map((agent) => agent.start()));
}, 120_000);

afterAll(async () => {
  for (const agent of agents) await agent.close();
  await server.dispose();
  scratch.remove();
}, 120_000);

/** Makes whoever runs it silent, waits until another execution runs, and heals what was struck. */
async function strikeOnce(pair: string, fault: Fault): Promise<void> {
  const running = await until(`${pair} runs`, () => runsNow(pair), 120_000);
  const agent = agents.find(({ node }) => node === running.node);
  if (agent === undefined) throw new Error(`nobody is ${running.node}`);
  await agent.strike(fault);
  const next = await until(
    `${pair} runs again after ${fault}`,
    () => intervals(pair).find(({ who, from }) => who !== running.who && from > running.from),
    120_000,
  );
  // What is given away by an expired fence goes to the other machine: this one is not heard.
  if (fault !== 'the supervisor is killed') expect(next.node, fault).not.toBe(running.node);
  await agent.heal(fault);
}

const slow: readonly Fault[] = ['the agent is killed', 'the agent is stopped', 'the agent is cut off'];

describe('[S5] two machines and a job that may run only once', () => {
  it(
    'twenty times its agent is killed, stopped or cut off, or its supervisor is killed: two never run at once',
    {
      timeout: 900_000,
    },
    async () => {
      // Two pairs of machines beside each other, ten rounds each.
      await Promise.all(
        ['a', 'b'].map(async (pair, offset) => {
          const { status } = await server.send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', {
            body: JSON.stringify(workload(pair)),
          });
          expect(status).toBe(201);
          for (let round = 0; round < 10; round++) {
            const fault = round % 4 === 3 ? 'the supervisor is killed' : slow[(round + offset) % 3];
            if (fault !== undefined) await strikeOnce(pair, fault);
          }
        }),
      );
      for (const pair of ['a', 'b']) {
        const all = intervals(pair).toSorted((one, other) => one.from - other.from);
        expect(all.length, 'each round has another execution').toBeGreaterThanOrEqual(11);
        for (const [index, next] of all.entries()) {
          const before = all[index - 1];
          if (before !== undefined)
            expect(next.from, `${JSON.stringify(before)} and ${JSON.stringify(next)}`).toBeGreaterThanOrEqual(
              before.to,
            );
        }
      }
    },
  );

  it(
    'a machine that stands still and wakes up too late says that its fence was overrun',
    { timeout: 240_000 },
    async () => {
      const pair = 'a';
      const running = await until('it runs', () => runsNow(pair), 120_000);
      const agent = agents.find(({ node }) => node === running.node);
      if (agent === undefined) throw new Error(`nobody is ${running.node}`);
      const replica = running.who.split('/')[0] ?? '';
      await agent.strike('the agent is stopped');
      const frozen = withDescendants(agent.supervisor);
      for (const pid of frozen) signal(pid, 'SIGSTOP');
      await until(
        'another runs',
        () => intervals(pair).find(({ who, from }) => who !== running.who && from > running.from),
        120_000,
      );
      for (const pid of frozen) signal(pid, 'SIGCONT');
      await agent.heal('the agent is stopped');
      const said = await until(
        'the overrun is said',
        () => overrunOf('Replica', 'default', replica),
        120_000,
      );
      expect(said).toMatch(/ran .* s longer on .* than it was permitted to/);
      expect(overrunOf('Node', undefined, agent.node)).toBe(said);
      const program = fixturePath(import.meta.url, '../cli/berth.js');
      const config = ['--config', server.kubeconfig];
      const { stdout } = await run(process.execPath, [program, 'why', `replica/${replica}`, ...config]);
      expect(stdout).toContain('FenceOverrun');
    },
  );
});
