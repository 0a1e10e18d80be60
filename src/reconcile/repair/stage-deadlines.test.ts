import { describe, expect, it } from 'vitest';
import { msBetween } from '../../env/instant.js';
import { VirtualTime } from '../../env/virtual.js';
import { StageDeadlines } from './stage-deadlines.js';

function open() {
  const world = new VirtualTime({ seed: 1 });
  const { env } = world.machine('m');
  const startedAt = env.clock.monotonic();
  const gone = new Set<string>();
  const over: string[] = [];
  let looks = 0;
  const deadlines = new StageDeadlines({
    env,
    isStill: (key, stay) => {
      looks += 1;
      return !gone.has(`${key} ${stay}`);
    },
    onOver: (key, stay, since) => {
      const sinceMs = msBetween(startedAt, since);
      over.push(`${key} ${stay} since ${sinceMs} at ${msBetween(startedAt, env.clock.monotonic())}`);
    },
  });
  const stop = new AbortController();
  void deadlines.run(stop.signal);
  const pass = async (ms: number): Promise<void> => {
    env.after(ms, () => undefined);
    await world.run(world.nowMs + ms);
  };
  return { deadlines, gone, over, pass, stop, looks: () => looks };
}

describe('[L5] who stays at a stage for too long', () => {
  it('is told of when its time is over, whatever came before or after it', async () => {
    const { deadlines, over, pass, stop } = open();
    deadlines.watch('long', 'bound', 300_000);
    await pass(1_000);
    deadlines.watch('short', 'bound', 5_000);
    deadlines.watch('middle', 'bound', 60_000);
    deadlines.watch('also-short', 'bound', 5_000);
    await pass(5_999);
    expect(over).toEqual(['short bound since 1000 at 6000', 'also-short bound since 1000 at 6000']);
    await pass(400_000);
    expect(over.slice(2)).toEqual(['middle bound since 1000 at 61000', 'long bound since 0 at 300000']);
    expect(deadlines.size).toBe(0);
    stop.abort();
  });

  it('is nobody who has left, and those are not kept until their time is over', async () => {
    const { deadlines, gone, over, pass, stop, looks } = open();
    for (let at = 0; at < 2_000; at++) {
      deadlines.watch(`r${at}`, 'bound', 300_000);
      if (at !== 7) gone.add(`r${at} bound`);
    }
    await pass(10_001);
    expect(deadlines.size).toBe(1);
    await pass(300_000);
    expect(over).toEqual(['r7 bound since 0 at 300000']);
    expect(looks()).toBe(2_001);
    stop.abort();
  });
});
