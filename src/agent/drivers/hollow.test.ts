import { describe, expect, it } from 'vitest';
import { plusMs } from '../../env/instant.js';
import { VirtualTime } from '../../env/virtual.js';
import type { NodeBinding } from '../../model/node-stream.js';
import { binding } from '../session.fixture.js';
import { Wheel } from '../wheel.js';
import { HollowDriver } from './hollow.js';
import { type HollowProfile, usualProfile } from './hollow-profile.js';

function openDriver(changes: Partial<HollowProfile> = {}, believesTold = false) {
  const time = new VirtualTime({ seed: 3 });
  const { env } = time.machine('node');
  const profile = { ...usualProfile, ...changes };
  const driver = new HollowDriver({ profile, wheel: new Wheel(env), env, random: env.random, believesTold });
  const events: string[] = [];
  driver.attach((event) =>
    events.push(`${event.kind === 'Exited' ? event.reason : event.kind} ${event.uid}`),
  );
  const run = (forMs: number) => time.run(time.nowMs + forMs);
  return { driver, events, run, env };
}

describe('the hollow driver', () => {
  it('starts, gets ready and completes in the times of its profile', async () => {
    const { driver, events, run } = openDriver({
      startSeconds: [2, 2],
      readySeconds: [3, 3],
      runSeconds: [10, 10],
    });
    driver.start(binding('b', { type: 'Batch' }));
    driver.start(binding('s'));
    await run(1_900);
    expect(events).toEqual([]);
    await run(200);
    expect(events).toEqual(['Started b', 'Started s']);
    await run(3_000);
    expect(events.slice(2)).toEqual(['Ready b', 'Ready s']);
    await run(60_000);
    expect(events.slice(4)).toEqual(['Completed b']);
  });

  it('fails as often as its profile says', async () => {
    const { driver, events, run } = openDriver({ startFailure: 0.3, failuresPerHour: 6 });
    for (let job = 0; job < 200; job++) driver.start(binding(`j${job}`));
    await run(10_000);
    const failed = events.filter((event) => event.startsWith('StartFailed')).length;
    expect(failed).toBeGreaterThan(40);
    expect(failed).toBeLessThan(80);
    await run(600_000);
    const ended = events.filter((event) => event.startsWith('Exited')).length;
    // 1 - 1/e of those that ran.
    expect(ended / (200 - failed)).toBeGreaterThan(0.5);
    expect(ended / (200 - failed)).toBeLessThan(0.75);
  });

  it('stops within the grace, also what is not there', async () => {
    const { driver, events, run } = openDriver({ stopSeconds: [30, 30] });
    driver.start(binding('a'));
    await run(2_000);
    driver.stop('a', 1);
    driver.stop('nothing', 1);
    await run(1_100);
    expect(events.slice(2).toSorted()).toEqual(['Stopped a', 'Stopped nothing']);
    expect([...driver.list()]).toEqual([]);
  });

  it('[S5] ends fenced jobs when their permit is over, and not before one that was given meanwhile', async () => {
    const { driver, events, run, env } = openDriver();
    const permit = (): void => {
      const killAt = plusMs(env.clock.boot(), 10_000);
      driver.permit({ startUntil: killAt, killAt, overAt: killAt });
    };
    permit();
    driver.start(binding('once', { isFenced: true }));
    driver.start(binding('any'));
    await run(9_000);
    permit();
    await run(9_500);
    expect([...driver.list()]).toEqual(['once', 'any']);
    await run(1_000);
    expect([...driver.list()]).toEqual(['any']);
    expect(events.at(-1)).toBe('Fenced once');
  });

  it.each<[Partial<NodeBinding>, boolean, string]>([
    [{ stage: 'Bound' }, true, 'Gone'],
    [{ stage: 'Starting' }, true, 'Running'],
    [{ stage: 'Serving' }, true, 'Ready'],
    [{ stage: 'Unknown' }, true, 'Ready'],
    [{ stage: 'Releasing' }, true, 'Gone'],
    [{ stage: 'Serving' }, false, 'Gone'],
  ])('finds what it did not start, bound as %j, believing %s: %s', (bound, believesTold, found) => {
    const { driver } = openDriver({}, believesTold);
    expect(driver.adopt(binding('a', bound))).toBe(found);
    expect([...driver.list()]).toEqual(found === 'Gone' ? [] : ['a']);
  });
});
