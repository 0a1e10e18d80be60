import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { plusMs } from '../env/instant.js';
import { VirtualTime } from '../env/virtual.js';
import type { NodeBinding } from '../model/node-stream.js';
import type { Driver, DriverEvent } from './driver.js';
import { usualProfile } from './drivers/hollow-profile.js';
import { HollowDriver } from './drivers/hollow.js';
import { binding } from './session.fixture.js';
import { KeptDriver } from './upkeep/kept-driver.js';
import { FakeRunner } from './upkeep/runner.fixture.js';
import { Wheel } from './wheel.js';

/** Drivers over things that run nothing, on virtual time. */
const drivers: readonly [string, (env: Env) => Driver][] = [
  [
    'hollow',
    (env) =>
      new HollowDriver({
        ...{ profile: usualProfile, wheel: new Wheel(env), env, random: env.random, believesTold: false },
      }),
  ],
  [
    'kept, over a runner',
    (env) =>
      new KeptDriver({
        ...{ runners: [new FakeRunner(env)], env, wheel: new Wheel(env) },
        place: { node: 'n1', region: 'local', zone: 'local' },
        caller: { ask: (_, answer) => void env.after(1, () => answer(undefined)) },
      }),
  ],
];

describe.each(drivers)('the driver %s', (_, make) => {
  function open() {
    const time = new VirtualTime({ seed: 5 });
    const { env } = time.machine('node');
    const driver = make(env);
    const events: DriverEvent[] = [];
    let isInCall = false;
    driver.attach(
      (event) => {
        expect(isInCall, 'told from within a call').toBe(false);
        events.push(event);
      },
      () => undefined,
    );
    const call = (work: () => void): void => {
      isInCall = true;
      work();
      isInCall = false;
    };
    const kindsOf = (uid: string): string[] =>
      events.filter((event) => event.uid === uid).map(({ kind }) => kind);
    return { env, driver, call, events, kindsOf, run: (ms: number) => time.run(time.nowMs + ms) };
  }

  it('tells that a job started, then that it is ready, and lists it', async () => {
    const { driver, call, events, kindsOf, run } = open();
    call(() => driver.start(binding('a')));
    await run(5_000);
    expect(kindsOf('a')).toEqual(['Started', 'Ready']);
    expect(events[0]).toMatchObject({ executions: 1 });
    expect([...driver.list()]).toEqual(['a']);
  });

  it('starts a job once, however often it is told to', async () => {
    const { driver, call, kindsOf, run } = open();
    for (let time = 0; time < 3; time++) call(() => driver.start(binding('a')));
    await run(5_000);
    expect(kindsOf('a')).toEqual(['Started', 'Ready']);
  });

  it.each<[string, number]>([
    ['at once', 0],
    ['while it starts', 1],
    ['when it runs', 5_000],
  ])('tells once that a job exited which is stopped %s, and nothing after that', async (_when, afterMs) => {
    const { driver, call, events, kindsOf, run } = open();
    call(() => driver.start(binding('a')));
    await run(afterMs);
    call(() => driver.stop('a', 2));
    await run(60_000);
    expect(kindsOf('a').filter((kind) => kind === 'Exited')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ kind: 'Exited', uid: 'a', reason: 'Stopped' });
    call(() => driver.forget('a'));
    await run(100);
    expect([...driver.list()]).toEqual([]);
  });

  it('tells also of what is not there that it exited, when it is told to stop it', async () => {
    const { driver, call, kindsOf, run } = open();
    call(() => driver.stop('nobody', 2));
    await run(5_000);
    expect(kindsOf('nobody')).toEqual(['Exited']);
  });

  it('knows what it started, and nothing of what it did not', async () => {
    const { driver, call, run } = open();
    const told: Partial<NodeBinding> = { stage: 'Ready' };
    call(() => driver.start(binding('a')));
    await run(5_000);
    call(() => expect(driver.adopt(binding('a', told))).toBe('Ready'));
    call(() => expect(driver.adopt(binding('b', told))).toBe('Gone'));
  });

  it('takes permits at any time', async () => {
    const { env, driver, call, run } = open();
    const until = plusMs(env.clock.boot(), 60_000);
    call(() => driver.permit({ startUntil: until, killAt: until, overAt: until }));
    call(() => driver.start(binding('a', { isFenced: true })));
    await run(5_000);
    expect([...driver.list()]).toEqual(['a']);
  });
});
