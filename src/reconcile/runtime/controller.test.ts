import { describe, expect, it } from 'vitest';
import type { Env } from '../../env/env.js';
import { VirtualTime } from '../../env/virtual.js';
import { Controller, type ControllerParts } from './controller.js';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import { after, done, type Problem, type Reconciler, type Requeue } from './requeue.js';

const keyOf = (name: string): string => `t/${name}`;

function open(
  reconcile: (key: string, env: Env) => Promise<Requeue>,
  changed: Partial<ControllerParts> = {},
) {
  const world = new VirtualTime({ seed: 1 });
  const machine = world.machine('m');
  const { env } = machine;
  const objects = new FakeObjects();
  const problems: Problem[] = [];
  const stop = new AbortController();
  const looked: string[] = [];
  const controller = new Controller({
    ...{ name: 'test', objects, env, report: (problem: Problem) => problems.push(problem) },
    kinds: new Set(['Thing']),
    keysOf: ({ object }) => [keyOf(object.metadata.name)],
    listKeys: () => [...objects.list('Thing')].map(({ metadata }) => keyOf(metadata.name)),
    ...changed,
  });
  const reconciler: Reconciler = {
    reconcile: (key) => {
      looked.push(`${Math.round(world.nowMs)} ${key}`);
      return reconcile(key, env);
    },
  };
  world.spawn(machine, 'controller', () => controller.run(reconciler, stop.signal));
  return { world, env, objects, problems, stop, looked, controller, reconciler };
}

const thing = (name: string) => objectOf('Thing', 't', name);

describe('Controller', () => {
  it('looks at everything when it starts, then at what changes', async () => {
    const { world, env, objects, looked, stop } = open(() => Promise.resolve(done));
    objects.put(thing('a'));
    env.after(100, () => objects.put(thing('b')));
    env.after(200, () => objects.put(objectOf('Other', 't', 'x')));
    env.after(300, () => objects.remove('Thing', 't', 'b'));
    env.after(400, () => stop.abort());
    expect(await world.run()).toMatchObject({ kind: 'idle', atMs: 400 });
    expect(looked).toEqual(['0 t/a', '100 t/b', '300 t/b']);
  });

  it('finds what no change told of at the next resync, and at once when told of a gap', async () => {
    const { world, env, objects, looked, controller, stop } = open(() => Promise.resolve(done), {
      resyncMs: 10_000,
    });
    env.after(100, () => objects.putUnseen(thing('a')));
    env.after(20_000, () => objects.putUnseen(thing('b')));
    env.after(20_001, () => objects.gap());
    await world.run(20_500);
    expect(looked[0]).toMatch(/^(9|1\d)\d{3} t\/a$/);
    expect(looked.at(-1)).toBe('20001 t/b');
    expect(controller.counters.resyncs).toBeGreaterThanOrEqual(3);
    stop.abort();
    await world.run();
  });

  it('backs off after an error, counts and reports it, and goes on with other keys', async () => {
    let fails = 3;
    const { world, env, objects, looked, problems, controller, stop } = open((key) => {
      if (key !== 't/bad' || fails === 0) return Promise.resolve(done);
      fails -= 1;
      return Promise.reject(new Error('broken'));
    });
    objects.put(thing('bad'));
    objects.put(thing('good'));
    env.after(5_000, () => stop.abort());
    await world.run();
    expect(looked.filter((line) => line.endsWith('t/bad'))).toHaveLength(4);
    expect(looked.filter((line) => line.endsWith('t/good'))).toHaveLength(1);
    expect(problems).toHaveLength(3);
    expect(problems[0]).toMatchObject({ controller: 'test', key: 't/bad', message: 'broken' });
    expect(controller.counters).toMatchObject({ runs: 5, errors: 3, retries: 3, depth: 0 });
  });

  it('looks again when it was asked to', async () => {
    const { world, env, objects, looked, stop } = open(() => Promise.resolve(after(700, 'deadline')));
    objects.put(thing('a'));
    env.after(1_500, () => stop.abort());
    await world.run();
    expect(looked).toEqual(['0 t/a', '700 t/a', '1400 t/a']);
  });

  it('finishes what it is at when it is stopped, follows no longer, and can run again', async () => {
    const finished: string[] = [];
    const { world, env, objects, looked, stop, controller, reconciler } = open(async (key, its) => {
      await its.sleep(1_000);
      finished.push(key);
      return done;
    });
    objects.put(thing('a'));
    env.after(500, () => stop.abort());
    env.after(600, () => objects.put(thing('b')));
    expect(await world.run()).toMatchObject({ kind: 'idle', atMs: 1_000 });
    expect(finished).toEqual(['t/a']);
    expect(objects.followers).toBe(0);
    const next = new AbortController();
    world.spawn(world.machine('again'), 'again', () => controller.run(reconciler, next.signal));
    env.after(5_000, () => next.abort());
    await world.run();
    expect(looked).toEqual(['0 t/a', '1000 t/a', '1000 t/b']);
  });

  it('looks at every key also when the queue has room for few', async () => {
    const { world, env, objects, looked, stop } = open(() => Promise.resolve(done), {
      queue: { keysMax: 10 },
    });
    const names = Array.from({ length: 95 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    for (const name of names) objects.put(thing(name));
    env.after(1_000, () => {
      // A burst of changes past the bound: refused ones are found by the resync that they start.
      for (const name of names) objects.put(thing(name));
    });
    env.after(900, () => expect(new Set(looked).size).toBe(95));
    env.after(5_000, () => stop.abort());
    await world.run();
    const late = looked.filter((line) => Number(line.split(' ')[0]) >= 1_000);
    expect(new Set(late.map((line) => line.split(' ')[1])).size).toBe(95);
    expect(late.length, 'it does not look at everything for ever').toBeLessThan(400);
  });
});
