import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childrenOf, signal } from '../agent/process/proc.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import { run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { startProxy, type TcpProxy } from '../../testing/tcp-proxy.js';
import { program } from './process.fixture.js';
import { until } from './process-runner.fixture.js';
import { startServerIn, type TestServer } from './running.fixture.js';
import { ShippedAgent } from './shipped-agent.fixture.js';
import { keepShortFence } from './short-fence.fixture.js';

/** How an agent is made silent, and heard again. */
type Fault =
  | 'the agent is killed'
  | 'the agent is stopped'
  | 'the agent is cut off'
  | 'the supervisor is killed';

const pairs = ['a', 'b'];

let scratch: ReturnType<typeof scratchDirectory>;
let server: TestServer;
const machines: Machine[] = [];

/** One machine: the shipped agent, in a directory of its own, with its own way to the server. */
interface Machine {
  readonly agent: ShippedAgent;
  readonly proxy: TcpProxy;
}

async function strike({ agent, proxy }: Machine, fault: Fault): Promise<void> {
  if (fault === 'the supervisor is killed') process.kill(agent.supervisor, 'SIGKILL');
  if (fault === 'the agent is killed') await agent.kill();
  if (fault === 'the agent is stopped') agent.signal('SIGSTOP');
  if (fault === 'the agent is cut off') proxy.mode = 'blackhole';
}

async function heal({ agent, proxy }: Machine, fault: Fault): Promise<void> {
  if (fault === 'the agent is stopped') agent.signal('SIGCONT');
  if (fault === 'the agent is cut off') {
    proxy.mode = 'pass';
    proxy.cut();
  }
  if (fault === 'the agent is killed') await agent.start();
}

async function startMachine(node: string, pair: string): Promise<Machine> {
  const proxy = await startProxy(Number(new URL(server.url).port));
  const url = `https://127.0.0.1:${proxy.port}`;
  const spec = { leaseSeconds: 15, labels: { pair } };
  const agent = await ShippedAgent.joining(server, { home: scratch.path, node, url }, spec);
  await agent.start();
  return { agent, proxy };
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

/** The newest execution, if it has written within the last moments: one that has just ended may have done so too. */
function runsNow(pair: string): Interval | undefined {
  const now = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  const newest = intervals(pair).toSorted((one, other) => other.from - one.from)[0];
  return newest !== undefined && now - newest.to < 0.5 ? newest : undefined;
}

beforeAll(async () => {
  scratch = scratchDirectory('fence');
  const dir = join(scratch.path, 'server');
  await keepShortFence(dir);
  // Hollow nodes stand around, so that two silent ones are not half of the cell.
  server = await startServerIn(dir, { hollow: 8 });
  const names = pairs.flatMap((pair) => [`${pair}1`, `${pair}2`]);
  machines.push(...(await Promise.all(names.map((node) => startMachine(node, node.charAt(0))))));
  for (const pair of pairs) {
    const body = JSON.stringify(workload(pair));
    const { status } = await server.send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', { body });
    if (status !== 201) throw new Error(`workload ${pair}: ${status}`);
  }
}, 120_000);

afterAll(async () => {
  for (const { agent, proxy } of machines) {
    await agent.close();
    await proxy.close();
  }
  await server.dispose();
  scratch.remove();
}, 120_000);

function machineOf({ node }: Interval): Machine {
  const machine = machines.find(({ agent }) => agent.node === node);
  if (machine === undefined) throw new Error(`nobody is ${node}`);
  return machine;
}

const successorOf = (pair: string, running: Interval): Interval | undefined =>
  intervals(pair).find(({ who, from }) => who !== running.who && from > running.from);

/** Makes whoever runs it silent, waits until another execution runs, and heals what was struck. */
async function strikeOnce(pair: string, fault: Fault): Promise<void> {
  const running = await until(`${pair} runs`, () => runsNow(pair), 120_000);
  const machine = machineOf(running);
  await strike(machine, fault);
  try {
    const next = await until(`${pair} runs again after ${fault}`, () => successorOf(pair, running), 120_000);
    // What is given away by an expired fence goes to the other machine: this one is not heard.
    if (fault !== 'the supervisor is killed') expect(next.node, fault).not.toBe(running.node);
  } finally {
    await heal(machine, fault);
  }
}

const slow: readonly Fault[] = ['the agent is killed', 'the agent is stopped', 'the agent is cut off'];

describe('[S5] two machines and a job that may run only once', () => {
  it(
    'twenty times its agent is killed, stopped or cut off, or its supervisor is killed: two never run at once',
    {
      timeout: 900_000,
    },
    async () => {
      // Two pairs of machines beside each other, ten rounds each; both end before anything else is tried.
      const rounds = await Promise.allSettled(
        pairs.map(async (pair, offset) => {
          for (let round = 0; round < 10; round++) {
            const fault = round % 4 === 3 ? 'the supervisor is killed' : slow[(round + offset) % 3];
            if (fault !== undefined) await strikeOnce(pair, fault);
          }
        }),
      );
      expect(rounds.flatMap((pair) => (pair.status === 'rejected' ? [String(pair.reason)] : []))).toEqual([]);
      for (const pair of pairs) {
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
      const machine = machineOf(running);
      const { agent } = machine;
      const replica = running.who.split('/')[0] ?? '';
      await strike(machine, 'the agent is stopped');
      const frozen = withDescendants(agent.supervisor);
      for (const pid of frozen) signal(pid, 'SIGSTOP');
      await until('another runs', () => successorOf(pair, running), 120_000);
      for (const pid of frozen) signal(pid, 'SIGCONT');
      await heal(machine, 'the agent is stopped');
      const said = await until(
        'the overrun is said',
        () => overrunOf('Replica', 'default', replica),
        120_000,
      );
      expect(said).toMatch(/ran .* s longer on .* than it was permitted to/);
      expect(overrunOf('Node', undefined, agent.node)).toBe(said);
      const config = ['--config', server.kubeconfig];
      const { stdout } = await run(process.execPath, [program, 'why', `replica/${replica}`, ...config]);
      expect(stdout).toContain('FenceOverrun');
    },
  );
});
