import { spawn } from 'node:child_process';
import { getRandomValues, randomBytes, randomUUID, scrypt } from 'node:crypto';
import { createReadStream, readFile as readFileWithCallback } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { setTimeout as timersSetTimeout } from 'node:timers';
import { setTimeout as promisedTimeout } from 'node:timers/promises';
import { gzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Env } from './env.js';
import { SealedGlobalError } from './global-seal.js';
import { bootMs, msBetween, wallTimestamp } from './instant.js';
import { VirtualTime } from './virtual.js';

/** Fifty tasks that sleep, yield, draw, make ids and hand work to each other, all over one trace. */
async function fiftyTasks(seed: number): Promise<string> {
  const lines: string[] = [];
  const world = new VirtualTime({ seed, trace: (line) => lines.push(`event ${line}`) });
  const machines = Array.from({ length: 7 }, (_, index) =>
    world.machine(`m${index}`, { rate: 1 + (index % 3) * 0.001 }),
  );
  const mailboxes = Array.from({ length: 50 }, () => [] as string[]);
  for (let index = 0; index < 50; index++) {
    const machine = machines[index % 7] as (typeof machines)[0];
    world.spawn(machine, `task ${index}`, async (env) => {
      for (let round = 0; round < 8; round++) {
        await env.sleep(env.random.integer(4) * 10);
        await Promise.all([env.yield(), Promise.resolve().then(() => env.yield())]);
        mailboxes[env.random.integer(50)]?.push(`${index}.${round}`);
        const mail = mailboxes[index]?.splice(0).join(',') ?? '';
        lines.push(`${world.nowMs} task ${index} round ${round} ${env.uuid()} [${mail}]`);
      }
    });
  }
  const end = await world.run();
  lines.push(JSON.stringify(end));
  return lines.join('\n');
}

describe('a virtual world', () => {
  it('gives one history, byte for byte, for one seed, and another for another', async () => {
    const first = await fiftyTasks(1);
    expect(await fiftyTasks(1)).toBe(first);
    expect(await fiftyTasks(2)).not.toBe(first);
    expect(first.split('\n').filter((line) => line.includes(' round '))).toHaveLength(400);
  });

  it('moves time from event to event and lets promise work settle in between', async () => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('m');
    const order: string[] = [];
    world.spawn(machine, 'a', async (env) => {
      await env.sleep(86_400_000);
      order.push(`a at ${world.nowMs}`);
    });
    world.spawn(machine, 'b', async (env) => {
      await env.sleep(1000);
      for (let depth = 0; depth < 1000; depth++) await Promise.resolve();
      order.push(`b at ${world.nowMs}`);
    });
    expect(await world.run()).toMatchObject({ kind: 'idle', atMs: 86_400_000, waiting: [] });
    expect(order).toEqual(['b at 1000', 'a at 86400000']);
  });

  it('tries different orders of simultaneous events for different seeds', async () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const world = new VirtualTime({ seed });
      const order: number[] = [];
      const { env } = world.machine('m');
      for (let index = 0; index < 4; index++) env.after(10, () => order.push(index));
      await world.run();
      orders.add(order.join(''));
    }
    expect(orders.size).toBeGreaterThan(5);
  });

  it('reports tasks that wait while nothing can wake them as a deadlock, by name', async () => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('m');
    world.spawn(machine, 'waits for ever', () => new Promise(() => undefined));
    world.spawn(machine, 'finishes', (env) => env.sleep(5));
    expect(await world.run()).toEqual({ kind: 'deadlock', atMs: 5, events: 3, waiting: ['waits for ever'] });
  });

  it('does not take a cancelled timer for something that is still to come', async () => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('m');
    world.spawn(machine, 'stuck', async (env) => {
      env.after(1_000_000, () => undefined).cancel();
      await new Promise(() => undefined);
    });
    expect(await world.run()).toMatchObject({ kind: 'deadlock', atMs: 0 });
  });

  it('lets go of cancelled timers long before their time', async () => {
    const world = new VirtualTime({ seed: 1 });
    const { env } = world.machine('m');
    const held = new WeakRef({ large: true });
    for (let count = 0; count < 5_000; count++) env.after(3_600_000, () => void held.deref()).cancel();
    env.after(5, () => undefined);
    expect(await world.run()).toEqual({ kind: 'idle', atMs: 5, events: 1, waiting: [] });
  });

  it('has the same bound on delays as the real one, and one machine per name', () => {
    const world = new VirtualTime({ seed: 1 });
    const { env } = world.machine('m');
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
      expect(() => env.after(ms, () => undefined)).toThrow('allowed is 0 to');
    }
    expect(() => world.machine('m')).toThrow('has a machine m already');
  });

  it('stops at a limit and goes on from there', async () => {
    const world = new VirtualTime({ seed: 1 });
    let ticks = 0;
    world.spawn(world.machine('m'), 'ticker', async (env) => {
      for (;;) {
        await env.sleep(10);
        ticks += 1;
      }
    });
    expect(await world.run(95)).toMatchObject({ kind: 'limit', atMs: 95, waiting: ['ticker'] });
    expect(ticks).toBe(9);
    await world.run(200);
    expect(ticks).toBe(20);
    expect(await world.run(100), 'time does not go back').toMatchObject({ kind: 'limit', atMs: 200 });
  });

  it('ends with the error of a task or a timer that fails, and names the task', async () => {
    const failing = new VirtualTime({ seed: 1 });
    failing.spawn(failing.machine('m'), 'breaks', async (env) => {
      await env.sleep(1);
      throw new Error('broken');
    });
    await expect(failing.run()).rejects.toThrow('task breaks failed: Error: broken');

    const throwing = new VirtualTime({ seed: 1 });
    throwing.machine('m').env.after(1, () => {
      throw new Error('in a timer');
    });
    await expect(throwing.run()).rejects.toThrow('in a timer');
  });

  it('moves the clock of a machine with every timer that has a delay, however short the delay is', async () => {
    const world = new VirtualTime({ seed: 1 });
    const { env } = world.machine('m', { rate: 0.999 });
    env.after(131_270.39, () => undefined);
    await world.run();
    const delays = [1e-6, 1e-9, 1e-12, 1e-15, Number.MIN_VALUE];
    for (const ms of delays) {
      const [monotonic, boot] = [env.clock.monotonic(), env.clock.boot()];
      env.after(ms, () => undefined);
      await world.run();
      expect(msBetween(monotonic, env.clock.monotonic())).toBeGreaterThan(0);
      expect(msBetween(boot, env.clock.boot())).toBeGreaterThan(0);
    }
  });

  it('fails when each event sets the next one and the time stands still, and names who set the last timer', async () => {
    const world = new VirtualTime({ seed: 1 });
    const { env } = world.machine('stuck');
    const spinsForEver = (): void => void env.after(0, spinsForEver);
    env.after(50, spinsForEver);
    const failure = await world.run().catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({
      message:
        'virtual time stands at 50 ms: 50000 events were run, each set by the one before; the last was set by stuck, 0 ms ahead',
      stack: expect.stringContaining('spinsForEver') as string,
    });
  });

  it('takes tiny steps without end for standing still, and long work of one moment for work', async () => {
    const crawling = new VirtualTime({ seed: 1 });
    const { env } = crawling.machine('m');
    const crawl = (): void => void env.after(1e-9, crawl);
    crawl();
    await expect(crawling.run()).rejects.toThrow('virtual time stands at');

    const busy = new VirtualTime({ seed: 1 });
    const many = busy.machine('m').env;
    let fired = 0;
    for (let count = 0; count < 60_000; count++) many.after(70, () => (fired += 1));
    await busy.run();
    expect(fired).toBe(60_000);
  });

  it('rejects a sleep with its signal’s reason', async () => {
    const world = new VirtualTime({ seed: 1 });
    const outcomes: unknown[] = [];
    world.spawn(world.machine('m'), 'sleeper', async (env) => {
      const stop = new AbortController();
      env.after(5, () => stop.abort(new Error('woken')));
      await env.sleep(100, stop.signal).catch((error: unknown) => outcomes.push((error as Error).message));
      outcomes.push(world.nowMs);
    });
    expect(await world.run()).toMatchObject({ kind: 'idle', atMs: 5 });
    expect(outcomes).toEqual(['woken', 5]);
  });
});

describe('a virtual machine', () => {
  it('keeps its own time: drift shows in its clocks and in when its timers fire', async () => {
    const world = new VirtualTime({ seed: 1 });
    const fast = world.machine('fast', { rate: 1.01 });
    const [monotonic, wall] = [fast.env.clock.monotonic(), fast.env.clock.wall()];
    expect(wallTimestamp(wall)).toBe('2026-01-01T00:00:00.000Z');
    fast.env.after(1010, () => undefined);
    expect((await world.run()).atMs).toBeCloseTo(1000, 6);
    expect(msBetween(monotonic, fast.env.clock.monotonic())).toBeCloseTo(1010, 6);
    expect(msBetween(wall, fast.env.clock.wall())).toBeCloseTo(1010, 6);
  });

  it('stands still while suspended: boot time and wall time count it, monotonic time and timers do not', async () => {
    const world = new VirtualTime({ seed: 1 });
    const sleeper = world.machine('sleeper');
    const { clock } = sleeper.env;
    const [monotonic, boot, wall] = [clock.monotonic(), clock.boot(), clock.wall()];
    let firedAtMs = 0;
    sleeper.env.after(100, () => {
      firedAtMs = world.nowMs;
    });
    const cancelled = sleeper.env.after(100, () => {
      throw new Error('a timer that was cancelled during a suspend fired');
    });
    const other = world.machine('other').env;
    other.after(40, () => sleeper.suspend(500));
    other.after(300, () => cancelled.cancel());
    await world.run();
    expect(firedAtMs).toBe(600);
    expect(msBetween(monotonic, clock.monotonic())).toBe(100);
    expect(msBetween(boot, clock.boot())).toBe(600);
    expect(msBetween(wall, clock.wall())).toBe(600);
  });

  it('has clocks that mean nothing on another machine', () => {
    const world = new VirtualTime({ seed: 1 });
    const [a, b] = [world.machine('a').env.clock, world.machine('b').env.clock];
    expect(bootMs(a.boot())).not.toBe(bootMs(b.boot()));
    expect(a.monotonic()).not.toBe(b.monotonic());
  });
});

describe('the secrets of a virtual machine', () => {
  it('follow from the seed and the machine, and drawing them changes no id', () => {
    const [one, again] = [new VirtualTime({ seed: 1 }), new VirtualTime({ seed: 1 })];
    const [a, b] = [one.machine('a').env, again.machine('a').env];
    expect(a.secret(32)).toEqual(b.secret(32));
    expect(a.secret(32)).not.toEqual(one.machine('b').env.secret(32));
    a.secret(5);
    expect(a.uuid()).toBe(b.uuid());
  });
});

describe('inside a virtual run', () => {
  const escapes: Record<string, (env: Env) => unknown> = {
    'Date.now': () => Date.now(),
    'new Date()': () => new Date(),
    'Date()': () => Date(),
    'Math.random': () => Math.random(),
    'Date.prototype.constructor': () => new (new Date(0).constructor as typeof Date)(),
    'Intl.DateTimeFormat.format': () => new Intl.DateTimeFormat().format(),
    'performance.now': () => performance.now(),
    'performance.mark': () => performance.mark('m'),
    'process.uptime': () => process.uptime(),
    'Event.timeStamp': () => new Event('e').timeStamp,
    'crypto.subtle.digest': () => globalThis.crypto.subtle.digest('SHA-256', new Uint8Array(1)),
    'node:crypto.scrypt': () => scrypt('a', 'b', 8, () => undefined),
    'node:child_process.spawn': () => spawn('true'),
    'node:fs.readFile': () => readFileWithCallback('package.json', () => undefined),
    'node:fs.createReadStream': () => createReadStream('package.json').destroy(),
    'node:timers.setTimeout': () => timersSetTimeout(() => undefined, 1),
    'node:zlib.gzip': () => gzip('x', () => undefined),
    'process.hrtime': () => process.hrtime(),
    'process.hrtime.bigint': () => process.hrtime.bigint(),
    'AbortSignal.timeout': () => AbortSignal.timeout(1),
    setTimeout: () => setTimeout(() => undefined, 1),
    setInterval: () => setInterval(() => undefined, 1),
    setImmediate: () => setImmediate(() => undefined),
    'crypto.randomUUID': () => globalThis.crypto.randomUUID(),
    'crypto.getRandomValues': () => globalThis.crypto.getRandomValues(new Uint8Array(4)),
    'node:crypto.getRandomValues': () => getRandomValues(new Uint8Array(4)),
    'node:crypto.randomUUID': () => randomUUID(),
    'node:crypto.randomBytes': () => randomBytes(4),
    'node:os.uptime': () => uptime(),
    'node:timers/promises.setTimeout': () => promisedTimeout(1),
    'node:fs/promises.readFile': () => readFile('package.json'),
  };

  it.each(Object.keys(escapes))('%s throws', async (name) => {
    const world = new VirtualTime({ seed: 1 });
    let caught: unknown;
    world.spawn(world.machine('m'), 'escape', async (env) => {
      await env.sleep(1);
      try {
        await escapes[name]?.(env);
      } catch (error) {
        caught = error;
      }
    });
    await world.run();
    expect(caught).toBeInstanceOf(SealedGlobalError);
    await escapes[name]?.(world.machine('outside').env);
  });

  it('a date that is already known may still be formatted', async () => {
    const world = new VirtualTime({ seed: 1 });
    let shown = '';
    world.machine('m').env.after(1, () => {
      shown = new Date(0).toISOString();
      expect(new Date(0)).toBeInstanceOf(Date);
    });
    await world.run();
    expect(shown).toBe('1970-01-01T00:00:00.000Z');
  });

  it('a second run at the same time is refused, one after it is not', async () => {
    const world = new VirtualTime({ seed: 1 });
    world.machine('m').env.after(1, () => undefined);
    const running = world.run();
    const other = new VirtualTime({ seed: 2 });
    expect(() => other.run()).toThrow('another simulated run is in progress');
    await running;
    expect(await other.run()).toMatchObject({ kind: 'idle' });
  });
});
