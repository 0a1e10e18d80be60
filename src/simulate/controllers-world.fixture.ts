import { expect } from 'vitest';
import { addNode, lead, openAuthority, proposal, refOf } from '../commit/open-authority.fixture.js';
import type { Env } from '../env/env.js';
import { VirtualTime } from '../env/virtual.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Workload } from '../model/kinds/workload.js';
import type { Epoch } from '../model/records.js';
import type { Stage } from '../model/stages.js';
import { CachedObjects } from '../objects/cached-objects.js';
import { draft } from '../objects/open-objects.fixture.js';
import { Controllers } from '../reconcile/controllers.js';
import type { Problem } from '../reconcile/runtime/requeue.js';
import type { Store } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { FaultyStore, type StoreFaults } from './faulty-store.js';

/** A store as a process sees it that can be killed: from then on its calls never settle and reach nobody. */
function killable(store: Store, life: { isOver: boolean }): Store {
  const never = new Promise<never>(() => undefined);
  const alive =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (life.isOver) return never;
      const result = await call(...args);
      return life.isOver ? never : result;
    };
  return {
    read: alive((range, options) => store.read(range, options)),
    transact: alive((transaction) => store.transact(transaction)),
    compact: alive((revision) => store.compact(revision)),
    close: () => Promise.resolve(),
    watch: (range, options) => {
      const watch = store.watch(range, options);
      const next = alive(() => watch.next());
      return {
        next,
        return: () => watch.return(),
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
  };
}

/**
 * Servers that run the controllers over one store, in virtual time; a placer that binds whatever is queued to node
 * `n1` and an agent that starts and stops what it is told, so that replicas live their whole lives.
 */
export async function openWorld(seed: number) {
  const world = new VirtualTime({ seed });
  const store = new MemoryStore(world.machine('store').env);
  const userMachine = world.machine('user');
  const problems: Problem[] = [];
  const behaviour: { agentStops: boolean; exits: Map<string, Stage> } = {
    agentStops: true,
    exits: new Map(),
  };
  let tasks = 0;

  /** Runs a task in the world until it is over, and gives its result. */
  const run = async <T>(task: (env: Env) => Promise<T>, limitMs = 300_000): Promise<T> => {
    const box: { result?: { value: T } } = {};
    tasks += 1;
    world.spawn(userMachine, `task ${tasks}`, async (env) => {
      box.result = { value: await task(env) };
    });
    const untilMs = world.nowMs + limitMs;
    while (box.result === undefined && world.nowMs < untilMs) await world.run(world.nowMs + 100);
    if (box.result === undefined) throw new Error(`task ${tasks} was not over after ${limitMs} ms`);
    return box.result.value;
  };

  const opened = await run((env) => openAuthority(store, env));
  const objects = new CachedObjects({ ...opened, manager: 'user' });
  const create = (kind: string, tenant: string | undefined, name: string, spec: object) =>
    run(() => objects.create(kind, tenant, draft(kind, name, spec)));
  await create('PriorityClass', undefined, 'default', { value: 0 });

  const startServer = (name: string, options: { isAlone?: boolean; faults?: StoreFaults } = {}) => {
    const machine = world.machine(name);
    const life = { isOver: false };
    const stop = new AbortController();
    const { faults, ...rest } = options;
    const handle = killable(faults === undefined ? store : new FaultyStore(store, machine.env, faults), life);
    const server: { controllers?: Controllers; hasStopped: boolean } = { hasStopped: false };
    world.spawn(machine, name, async (env) => {
      // A server that cannot reach its store yet tries again.
      let its: Awaited<ReturnType<typeof openAuthority>> | undefined;
      while (its === undefined) {
        its = await openAuthority(handle, env).catch(() => undefined);
        if (its === undefined) await env.sleep(100);
      }
      const controllers = new Controllers({
        ...{ objects: new CachedObjects({ ...its, manager: name }), authority: its.authority, env },
        ...{ holder: name, report: (problem: Problem) => problems.push(problem), ...rest },
      });
      server.controllers = controllers;
      await controllers.run(stop.signal);
      server.hasStopped = true;
    });
    return Object.assign(server, { machine, stop: () => stop.abort(), kill: () => (life.isOver = true) });
  };

  /** Gives the world a node, a scheduler and an agent. */
  const startPlacing = async (): Promise<void> => {
    const { authority } = opened;
    const epoch = await run(async () => {
      const registered: Epoch = await addNode(authority, 'n1', { operation: 'register/n1/1' });
      return registered;
    });
    const scheduler = await run(() => lead(authority, 'scheduler'));
    world.spawn(world.machine('placer'), 'placer', async (env) => {
      for (;;) {
        await env.sleep(150);
        for (const replica of objects.list<Replica>('Replica')) {
          const { stage = 'Queued' } = replica.status ?? {};
          if (stage === 'Queued') await authority.bind([proposal(scheduler, replica, 'n1', epoch)]);
        }
      }
    });
    world.spawn(world.machine('agent'), 'agent', async (env) => {
      for (;;) {
        await env.sleep(130);
        for (const replica of objects.list<Replica>('Replica')) {
          const next = nextOf(replica);
          if (next === undefined) continue;
          await authority.report({
            ...{ node: 'n1', nodeEpoch: epoch, replica: refOf(replica), stage: next, reason: 'Scripted' },
            fence: replica.status?.binding?.fence ?? '',
            operation: `report/${replica.metadata.uid}/${next}`,
          });
        }
      }
    });
  };
  const nextOf = (replica: Replica): Stage | undefined => {
    switch (replica.status?.stage) {
      case 'Bound':
        return 'Starting';
      case 'Starting':
        return 'Ready';
      case 'Ready':
      case 'Serving':
        return behaviour.exits.get(replica.metadata.name);
      case 'Releasing':
        return behaviour.agentStops ? 'Released' : undefined;
      default:
        return undefined;
    }
  };

  /** Replicas as `NAME STAGE`, in order. */
  const replicas = (): string[] =>
    [...objects.list<Replica>('Replica')].map(({ metadata, status }) => `${metadata.name} ${status?.stage}`);

  /** Lets time pass until something is so; fails with what is there instead if that takes too long. */
  const until = async (isSo: () => boolean, what: string, limitMs = 60_000): Promise<void> => {
    const untilMs = world.nowMs + limitMs;
    while (!isSo() && world.nowMs < untilMs) await world.run(world.nowMs + 250);
    if (!isSo())
      expect.fail(
        `${what}: not so after ${limitMs} ms; ${replicas().join(', ')}; ${JSON.stringify(problems)}`,
      );
  };

  const changeSpec = (kind: string, tenant: string | undefined, name: string, spec: object) =>
    run(() =>
      objects.modify(kind, tenant, name, 'spec', (live) => ({ ...live, spec: { ...live.spec, ...spec } })),
    );

  return {
    ...{ world, store, objects, opened, problems, behaviour, run, create, startServer, startPlacing },
    ...{ replicas, until, changeSpec },
    workload: (name: string) => objects.get<Workload>('Workload', 'default', name),
    remove: (kind: string, tenant: string | undefined, name: string) =>
      run(() => objects.delete(kind, tenant, name, objects.get(kind, tenant, name)?.metadata.uid ?? '')),
  };
}

export const serviceSpec = (replicas: number, more: object = {}): object => ({
  ...{ type: 'Service', replicas, ...more },
  template: { run: { process: { command: ['sleep', '1'] } } },
});
