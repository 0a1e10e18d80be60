import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { Stays } from './stays.js';

describe('[L5] how long a replica has been where it is', () => {
  it('counts from the first look at a stage, and anew at the next', async () => {
    const world = new VirtualTime({ seed: 1 });
    const { env } = world.machine('m');
    const stays = new Stays(env);
    const pass = async (ms: number): Promise<void> => {
      env.after(ms, () => undefined);
      await world.run();
    };
    const earlier = env.clock.monotonic();
    expect(stays.look('r', 'bound', false)).toEqual({ inStageMs: 0, heardMs: 0 });
    await pass(100);
    expect(stays.look('r', 'bound', true)).toEqual({ inStageMs: 100, heardMs: 0 });
    await pass(100);
    expect(stays.look('r', 'bound', true)).toEqual({ inStageMs: 200, heardMs: 100 });
    // A break: it is counted from when it is heard of again.
    expect(stays.look('r', 'bound', false)).toEqual({ inStageMs: 200, heardMs: 0 });
    await pass(100);
    expect(stays.look('r', 'bound', true)).toEqual({ inStageMs: 300, heardMs: 0 });
    expect(stays.look('r', 'started', true)).toEqual({ inStageMs: 0, heardMs: 0 });
    await pass(100);
    // Somebody had seen it come there before.
    stays.began('r', 'started', earlier);
    expect(stays.look('r', 'started', true)).toEqual({ inStageMs: 400, heardMs: 100 });
    stays.began('r', 'started', env.clock.monotonic());
    expect(stays.look('r', 'started', true)).toMatchObject({ inStageMs: 400 });
    stays.forget('r');
    expect(stays.size).toBe(0);
    expect(stays.look('r', 'started', true)).toEqual({ inStageMs: 0, heardMs: 0 });
  });
});
