import { renewPeriodSeconds } from '../src/commit/nodes/renew-period.js';
import type { Env } from '../src/env/env.js';
import { type ControlPlane, openControlPlane } from '../src/main/control-plane.js';
import type { Log } from '../src/main/log.js';
import { openDecisionLog } from '../src/main/open-decisions.js';
import { runControllers } from '../src/main/run-controllers.js';
import { runSchedulers } from '../src/main/run-schedulers.js';
import { decisionLimitsDefault } from '../src/model/decisions.js';
import { fenceContract } from '../src/model/fence-contract.js';
import { kindNamed } from '../src/model/kinds.js';
import type { KindDefinition } from '../src/model/kind.js';
import type { BerthObject } from '../src/model/object.js';
import type { ReplicaStatus } from '../src/model/kinds/replica.js';
import { type Epoch, nodeLeaseName } from '../src/model/records.js';
import { Metrics } from '../src/serve/metrics.js';
import { CachedObjects } from '../src/objects/cached-objects.js';
import type { Store } from '../src/store/contract.js';

export interface ScheduleCell {
  readonly controlPlane: ControlPlane;
  create(kind: string, namespace: string | undefined, name: string, spec: object): Promise<void>;
  addNodes(count: number): Promise<void>;
  /** Resolves when so many replicas are seen bound in the cache. */
  bound(count: number): Promise<void>;
  /** How long replicas took from when they were seen queued until they were seen bound: one in ten of them. */
  readonly queuedToBoundMs: number[];
  close(): Promise<void>;
}

const kindOf = (name: string): KindDefinition => {
  const kind = kindNamed(name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
};

/** As agents do, as often as a server asks them to; spread out, so that they are a load and not a blow. */
async function renewAll(
  authority: ControlPlane['authority'],
  env: Env,
  // Grows while nodes are added.
  nodes: readonly (readonly [name: string, epoch: Epoch])[],
  signal: AbortSignal,
): Promise<void> {
  let lastAt = performance.now();
  let due = 0;
  // By the clock, however late this wakes up.
  for (let renewed = 0; !signal.aborted;) {
    const now = performance.now();
    const periodMs = renewPeriodSeconds(nodes.length, fenceContract.permitSeconds) * 1_000;
    due += ((now - lastAt) / periodMs) * nodes.length;
    lastAt = now;
    for (; renewed < due; renewed++) {
      const [node, epoch] = nodes[renewed % nodes.length] as (typeof nodes)[number];
      void authority.renew({ name: nodeLeaseName(node), holder: node, epoch }).catch(() => undefined);
    }
    await env.sleep(50, signal).catch(() => undefined);
  }
}

/** What a server runs, without HTTP: store, cache, authority, controllers, scheduler; nodes are registered directly. */
export async function openScheduleCell(
  store: Store,
  env: Env,
  options: {
    readonly dir: string;
    readonly nodes: number;
    readonly cpuPerNode: number;
    readonly isShared: boolean;
  },
): Promise<ScheduleCell> {
  const metrics = new Metrics();
  const controlPlane = await openControlPlane(store, env, {
    ...{ historyMs: 300_000, eventsTtlMs: 3_600_000, isShared: options.isShared },
    onTransaction: () => undefined,
  });
  const { authority, cache, objects } = controlPlane;
  const offers = { cpu: String(options.cpuPerNode), memory: '64Ti' };
  const epochs: [name: string, epoch: Epoch][] = [];
  const register = async (at: number): Promise<void> => {
    const node = `node-${at}`;
    const outcome = await authority.register({
      ...{ node, capacity: offers, allocatable: offers, leaseSeconds: 40, operation: `register/${node}` },
      agent: { version: 'bench', drivers: ['process'] },
    });
    if (outcome.kind !== 'Committed') throw new Error(JSON.stringify(outcome));
    epochs.push([node, outcome.result.epoch]);
  };
  const addNodes = async (count: number): Promise<void> => {
    const first = epochs.length;
    for (let from = first; from < first + count; from += 1_000)
      await Promise.all(
        Array.from({ length: Math.min(1_000, first + count - from) }, (_, at) => register(from + at)),
      );
  };
  await addNodes(options.nodes);
  const problems: string[] = [];
  const stop = new AbortController();
  const renewing = renewAll(authority, env, epochs, stop.signal);
  const log: Log = ({ level, message }) => {
    if (level === 'error') throw new Error(message);
    if (level === 'warn') problems.push(message);
  };
  const common = {
    controlPlane,
    authority,
    env,
    holder: 'bench',
    address: undefined,
    isAlone: true,
    log,
  };
  const onProblem = (line: string): void => void problems.push(line);
  const seen = new CachedObjects({ ...controlPlane, manager: 'bench' });
  const controllers = runControllers({ ...common, objects: seen, metrics: metrics.control });
  const decisions = await openDecisionLog({
    ...{ dir: options.dir, limits: decisionLimitsDefault, env, onProblem },
  });
  const schedulers = await runSchedulers({
    ...{ ...common, metrics: metrics.scheduler, ages: () => 0, leaseSeconds: 60 },
    ...{ decisions: decisions.log, shards: 1, plugins: [] },
  });
  // Nothing is kept of those that are bound: memory is measured too. And one in ten is enough: to note when each was queued
  // would cost as much as some of what is measured.
  const queuedAt = new Map<string, number>();
  const queuedToBoundMs: number[] = [];
  let bound = 0;
  let waiting: { readonly count: number; readonly resolve: () => void } | undefined;
  cache.listen((key, value) => {
    if (!key.startsWith('/s/Replica/')) return;
    const status = (value as { status: Pick<ReplicaStatus, 'stage'> } | undefined)?.status;
    const isSampled = key.endsWith('0-1');
    if (isSampled && status?.stage === 'Queued' && !queuedAt.has(key)) queuedAt.set(key, performance.now());
    if (status?.stage !== 'Bound') return;
    // Nothing is written to one that is bound here: there is no agent that could report.
    bound += 1;
    const sinceMs = isSampled ? queuedAt.get(key) : undefined;
    if (sinceMs !== undefined) {
      queuedAt.delete(key);
      queuedToBoundMs.push(performance.now() - sinceMs);
    }
    if (waiting !== undefined && bound >= waiting.count) waiting.resolve();
  }, stop.signal);
  return {
    controlPlane,
    queuedToBoundMs,
    create: async (kind, namespace, name, spec) => {
      const draft = { apiVersion: 'berth.dev/v1', kind, metadata: { name }, spec };
      await objects.create(kindOf(kind), namespace, draft as unknown as BerthObject);
    },
    addNodes,
    bound: (count) =>
      new Promise((resolve, reject) => {
        waiting = { count, resolve };
        if (bound >= count) resolve();
        if (problems.length > 0) reject(new Error(problems.join('\n')));
      }),
    close: async () => {
      stop.abort();
      await renewing;
      await schedulers.close();
      await controllers.close();
      await decisions.close();
      await controlPlane.close();
      await store.close();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
  };
}

export const workloadSpec = (replicas: number, cpu = '100m', more: object = {}): object => ({
  ...{ type: 'Service', replicas, ...more },
  template: { run: { process: { command: ['work'] } }, resources: { cpu, memory: '64Mi' } },
});
