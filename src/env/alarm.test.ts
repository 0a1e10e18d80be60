import { describe, expect, it } from 'vitest';
import { VirtualTime } from './virtual.js';
import { Alarm } from './alarm.js';

describe('Alarm', () => {
  it('cuts a sleep short when it is rung, before or during it, and when the signal aborts', async () => {
    const world = new VirtualTime({ seed: 1 });
    const seen: unknown[] = [];
    world.spawn(world.machine('m'), 'sleeper', async (env) => {
      const alarm = new Alarm(env);
      const stop = new AbortController();
      seen.push([await alarm.sleep(100, stop.signal), world.nowMs]);
      env.after(50, () => alarm.ring());
      seen.push([await alarm.sleep(100, stop.signal), world.nowMs]);
      alarm.ring();
      seen.push([await alarm.sleep(100, stop.signal), world.nowMs]);
      seen.push([await alarm.sleep(100, stop.signal), world.nowMs]);
      env.after(30, () => stop.abort());
      seen.push([await alarm.sleep(100, stop.signal), world.nowMs]);
      seen.push([await alarm.sleep(100, stop.signal), world.nowMs]);
    });
    expect(await world.run()).toMatchObject({ kind: 'idle', atMs: 280 });
    expect(seen).toEqual([
      [true, 100],
      [false, 150],
      [false, 150],
      [true, 250],
      [false, 280],
      [false, 280],
    ]);
  });
});
