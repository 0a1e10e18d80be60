import { plainFleet } from '../src/agent/fleet/read-fleet.js';
import { HollowFleet } from '../src/agent/fleet/hollow-fleet.js';
import { realEnv } from '../src/env/real.js';
import { type Running, server } from '../src/main/server.js';
import type { Node } from '../src/model/kinds/node.js';
import type { Replica } from '../src/model/kinds/replica.js';
import { nodeOfLease } from '../src/model/records.js';
import { falseSuspicions } from '../src/observe/false-suspicion.fixture.js';
import { scratchDirectory } from '../testing/scratch.js';
import { type Bench, type Figure, percentile } from './measure.js';

const nodes = 5_000;
const lostNodes = 500;
const replicas = 10_000;
const afterSeconds = 45;
type Print = (figure: Figure) => void;

/** What is seen of a cell: when each node was last heard of, what was believed of it since, and where replicas are. */
class Watcher {
  readonly heardAt = new Map<string, number>();
  readonly suspectMs: number[] = [];
  readonly unknownMs: number[] = [];
  /** From the moment their workload allows a second one to the bind of it. */
  readonly replacedMs: number[] = [];
  readonly #lostAt = new Map<string, string>();
  readonly #waiting: { readonly isSo: () => boolean; readonly resolve: () => void }[] = [];
  isWatching = false;
  bound = 0;

  constructor(objects: Running['objects'], signal: AbortSignal) {
    objects.follow(
      ({ kind, object, before }) => {
        if (kind === 'Lease') {
          const node = nodeOfLease(object.metadata.name);
          if (node !== undefined) this.heardAt.set(node, performance.now());
        }
        if (kind === 'Node') this.#node(object as Node, before as Node | undefined);
        if (kind === 'Replica') this.#replica(object as Replica, before as Replica | undefined);
        for (const { isSo, resolve } of this.#waiting) if (isSo()) resolve();
      },
      () => undefined,
      signal,
    );
  }

  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (isSo()) resolve();
      else this.#waiting.push({ isSo, resolve });
    });
  }

  #node({ metadata, status }: Node, before: Node | undefined): void {
    if (!this.isWatching || status?.reachability === before?.status?.reachability) return;
    const silentMs = performance.now() - (this.heardAt.get(metadata.name) ?? Number.NaN);
    if (status?.reachability === 'Suspect') this.suspectMs.push(silentMs);
    if (status?.reachability === 'Unknown') this.unknownMs.push(silentMs);
  }

  #replica({ spec, status }: Replica, before: Replica | undefined): void {
    if (status?.stage === before?.status?.stage) return;
    const slot = `${spec.workload}/${spec.slot}`;
    const node = status?.binding?.node ?? '';
    if (status?.stage === 'Unknown') this.#lostAt.set(slot, node);
    if (status?.stage !== 'Bound') return;
    this.bound += 1;
    const lostOn = this.#lostAt.get(slot);
    if (lostOn === undefined || spec.incarnation === 1) return;
    this.#lostAt.delete(slot);
    const allowedAt = (this.heardAt.get(lostOn) ?? Number.NaN) + afterSeconds * 1_000;
    this.replacedMs.push(performance.now() - allowedAt);
  }
}

const workload = (name: string, count: number): object => ({
  ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name, namespace: 'default' } },
  spec: {
    ...{ type: 'Service', replicas: count, onNodeLost: { action: 'Replace', afterSeconds } },
    template: { run: { process: { command: ['work'] } }, resources: { cpu: '10m' } },
  },
});

/** Transactions a second, each second, until it is stopped. */
function counter(objects: Running['objects']): { readonly stop: () => readonly number[] } {
  const perSecond: number[] = [];
  let last = Number(objects.version);
  const timer = setInterval(() => {
    const now = Number(objects.version);
    perSecond.push(now - last);
    last = now;
  }, 1_000);
  return {
    stop: () => {
      clearInterval(timer);
      return perSecond;
    },
  };
}

const sleep = (ms: number): Promise<void> => realEnv().sleep(ms);
const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b);

async function lossOfNodes(print: Print): Promise<void> {
  const scratch = scratchDirectory('bench-detect');
  const env = realEnv();
  const running = await server({
    ...{ store: { kind: 'lmdb', dir: scratch.path }, dir: scratch.path, hosts: [], version: 'bench', env },
    listen: { host: '127.0.0.1', port: 0 },
    ...{ historyMs: 300_000, eventsTtlMs: 3_600_000, scheduling: { shards: 1, plugins: [] } },
    log: ({ level, message }) => {
      if (level === 'error') throw new Error(message);
    },
  });
  const stop = new AbortController();
  const { objects, streams } = running;
  const watcher = new Watcher(objects, stop.signal);
  const all = plainFleet(nodes).nodes;
  const fleetOf = (from: number, to: number): HollowFleet =>
    new HollowFleet({
      ...{ streams, env, version: 'bench', nodes: all.slice(from, to) },
      onProblem: () => undefined,
    });
  const [lost, one, kept] = [
    fleetOf(0, lostNodes),
    fleetOf(lostNodes, lostNodes + 1),
    fleetOf(lostNodes + 1, nodes),
  ];
  lost.start();
  await watcher.until(() => watcher.heardAt.size === lostNodes);
  await objects.create('Workload', 'default', workload('many', replicas));
  await watcher.until(() => watcher.bound === replicas);
  // All of them are where nodes will be lost; only now there is room elsewhere.
  one.start();
  kept.start();
  await watcher.until(() => watcher.heardAt.size === nodes);
  await sleep(30_000);
  const steady = counter(objects);
  await sleep(15_000);
  const steadyPerSecond = percentile(sorted(steady.stop()), 0.5);
  watcher.isWatching = true;
  const during = counter(objects);
  const startedAt = performance.now();
  lost.close();
  await watcher.until(() => watcher.replacedMs.length === replicas);
  const tookSeconds = (performance.now() - startedAt) / 1_000;
  const peak = Math.max(...during.stop());
  print({
    name: 'silent → Suspect, the last of 500',
    value: Math.max(...watcher.suspectMs) / 1_000,
    unit: 's',
    target: { atMost: 15 },
  });
  print({
    name: 'silent → Unknown, the last of 500',
    value: Math.max(...watcher.unknownMs) / 1_000,
    unit: 's',
    target: { atMost: 45 },
  });
  print({
    name: 'the first replacement bound after its rule allows',
    value: Math.min(...watcher.replacedMs) / 1_000,
    unit: 's',
    target: { atMost: 5 },
  });
  print({ name: '10,000 replicas of 500 nodes replaced after', value: tookSeconds, unit: 's' });
  print({
    name: 'transactions a second at most meanwhile',
    value: peak,
    unit: '/s',
    limit: { value: steadyPerSecond, what: 'in the steady state' },
  });
  one.close();
  kept.close();
  stop.abort();
  await running.close();
  scratch.remove();
}

function falseSuspicion(print: Print): void {
  const day = falseSuspicions({ nodes: 100, hours: 24, renewSeconds: 5, loss: 0.01, jitterMs: 3_000 });
  const given = { unit: 'times', target: { atMost: 0 } };
  print({ name: 'a day of 100 nodes, 1 % lost, 3 s of jitter: called Lost', value: day.Lost, ...given });
  print({ name: 'the same: called Unknown', value: day.Unknown, ...given });
  const rate = (day.Suspect / day.renewals) * 1_000_000;
  print({ name: 'the same: called Suspect, of a million renewals', value: rate, unit: 'times' });
}

export const detectBench: Bench = {
  name: 'detect',
  title: `${nodes} hollow nodes: how soon silence is noticed, and what losing ${lostNodes} of them costs`,
  run: async (print) => {
    falseSuspicion(print);
    await lossOfNodes(print);
  },
};
