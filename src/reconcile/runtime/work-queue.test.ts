import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { after, again, done } from './requeue.js';
import { WorkQueue, type WorkQueueOptions } from './work-queue.js';

function open(changed: Partial<WorkQueueOptions> = {}) {
  const world = new VirtualTime({ seed: 1 });
  const { env } = world.machine('m');
  const queue = new WorkQueue(env, {
    tenantOf: (key) => key.split('/')[0] ?? '',
    rate: { perSecond: 100_000, burst: 100_000 },
    backoff: { firstMs: 100, mostMs: 5_000 },
    keysMax: 200_000,
    ...changed,
  });
  return { world, env, queue };
}

/** Runs the world until `work` is over, or up to a limit. */
async function run(world: VirtualTime, work: () => Promise<void>, limitMs = 3_600_000): Promise<void> {
  let isOver = false;
  world.spawn(world.machine('worker'), 'work', async () => {
    await work();
    isOver = true;
  });
  await world.run(limitMs);
  expect(isOver, 'the work never ended').toBe(true);
}

describe('WorkQueue', () => {
  it('serves a tenant with one key second, after a tenant with 100,000', async () => {
    const { world, queue } = open();
    for (let number = 0; number < 100_000; number++) queue.add(`large/${number}`);
    queue.add('small/1');
    await run(world, async () => {
      expect(await queue.take()).toBe('large/0');
      expect(await queue.take()).toBe('small/1');
      queue.finish('small/1', done);
      let outOfOrder = 0;
      for (let number = 1; number < 100_000; number++)
        if ((await queue.take()) !== `large/${number}`) outOfOrder += 1;
      expect(outOfOrder).toBe(0);
    });
  });

  it('runs a key that is added while it is worked on once more, after that', async () => {
    const { world, queue } = open();
    await run(world, async () => {
      queue.add('a/1');
      expect(await queue.take()).toBe('a/1');
      queue.add('a/1');
      queue.add('a/1');
      queue.add('a/2');
      expect(await queue.take()).toBe('a/2');
      queue.finish('a/1', done);
      expect(await queue.take()).toBe('a/1');
      queue.finish('a/1', done);
      queue.finish('a/2', done);
      expect(queue.size).toBe(0);
    });
  });

  it('lets the earlier of two times count, whichever was asked for first', async () => {
    const { world, queue } = open();
    await run(world, async () => {
      queue.addAfter('a/1', 500);
      queue.addAfter('a/1', 200);
      queue.addAfter('a/1', 900);
      await queue.take();
      expect(world.nowMs).toBe(200);
      queue.addAfter('a/1', 50);
      queue.finish('a/1', after(10, 'sooner'));
      await queue.take();
      expect(world.nowMs).toBe(210);
      queue.finish('a/1', done);
      queue.addAfter('a/2', 1_000);
      queue.add('a/2');
      await queue.take();
      expect(world.nowMs).toBe(210);
    });
  });

  it('backs off longer with every failure up to its bound, and starts over after a success', async () => {
    const { world, queue } = open();
    const grown: number[] = [];
    await run(world, async () => {
      queue.add('a/1');
      await queue.take();
      for (let failure = 0; failure < 10; failure++) {
        const failedMs = world.nowMs;
        queue.finish('a/1', again('failed'));
        await queue.take();
        grown.push(world.nowMs - failedMs);
      }
      queue.finish('a/1', done);
      queue.add('a/1');
      await queue.take();
      const failedMs = world.nowMs;
      queue.finish('a/1', again('failed anew'));
      await queue.take();
      expect(world.nowMs - failedMs).toBeLessThanOrEqual(100);
    });
    for (const [failure, delayMs] of grown.entries()) {
      const fullMs = Math.min(5_000, 100 * 2 ** failure);
      expect(delayMs).toBeGreaterThanOrEqual(fullMs / 2);
      expect(delayMs).toBeLessThanOrEqual(fullMs);
    }
    expect(queue.counts.retries).toBe(11);
  });

  it('keeps to its rate, whoever works', async () => {
    const { world, queue } = open({ rate: { perSecond: 10, burst: 5 } });
    for (let number = 0; number < 105; number++) queue.add(`a/${number}`);
    await run(world, async () => {
      for (let number = 0; number < 105; number++) queue.finish((await queue.take()) ?? '', done);
      expect(world.nowMs).toBeCloseTo(10_000, 3);
    });
  });

  it('refuses keys past its bound and says so; those that are in it may be added again', async () => {
    const { world, queue } = open({ keysMax: 2 });
    expect([queue.add('a/1'), queue.add('a/2'), queue.add('a/3')]).toEqual([true, true, false]);
    expect(queue.add('a/1')).toBe(true);
    await run(world, async () => {
      queue.finish((await queue.take()) ?? '', done);
      expect(queue.add('a/3')).toBe(true);
    });
  });

  it('knows how long the oldest key has been ready, not counting keys that wait for their time', async () => {
    const { world, env, queue } = open();
    queue.addAfter('a/1', 60_000);
    env.after(100, () => queue.add('b/1'));
    env.after(400, () => expect([queue.oldestReadyMs, queue.counts.ready]).toEqual([300, 1]));
    await world.run(500);
    expect(queue.counts).toEqual({ ready: 1, waiting: 1, retries: 0 });
  });

  it('gives nothing out once closed, and takes nothing more', async () => {
    const { world, queue } = open();
    await run(world, async () => {
      queue.add('a/1');
      await queue.take();
      queue.addAfter('a/2', 100);
      const waiting = queue.take();
      queue.close();
      expect(await waiting).toBeUndefined();
      expect(await queue.take()).toBeUndefined();
      expect(queue.add('a/3')).toBe(false);
      queue.finish('a/1', again('stopping'));
    });
    expect(world.nowMs, 'no timer is left').toBe(0);
  });

  it('says who finishes what nobody works on', () => {
    const { queue } = open();
    queue.add('a/1');
    expect(() => queue.finish('a/1', done)).toThrow('nobody is working on a/1');
  });
});
