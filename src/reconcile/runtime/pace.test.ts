import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { Pace } from './pace.js';

describe('Pace', () => {
  it('lets what is large rest in proportion after each look, five seconds at most, and what is small or has changed not at all', async () => {
    const world = new VirtualTime({ seed: 1 });
    const rests: number[] = [];
    world.spawn(world.machine('m'), 'looks', async (env) => {
      const pace = new Pace(env, 50);
      const rest = (key: string, mark?: unknown): void => void rests.push(pace.restMs(key, mark));
      rest('large');
      pace.looked('large', 100_000, 1);
      pace.looked('small', 999);
      await env.sleep(500);
      rest('large', 1);
      rest('large', 2);
      rest('small');
      await env.sleep(1_500);
      rest('large', 1);
      pace.looked('huge', 1_000_000);
      rest('huge');
    });
    await world.run();
    expect(rests).toEqual([0, 1_500, 0, 0, 0, 5_000]);
  });

  it('lets each of many large ones rest longer, so that all of them cost what a few do', async () => {
    const world = new VirtualTime({ seed: 1 });
    const rests: number[] = [];
    world.spawn(world.machine('m'), 'looks', async (env) => {
      const pace = new Pace(env, 50);
      const look = (key: string, parts: number): void => {
        pace.looked(key, parts);
        rests.push(pace.restMs(key));
      };
      for (const key of ['a', 'b', 'c', 'd']) look(key, 50_000);
      look('smaller', 5_000);
      for (const key of ['e', 'f', 'g']) look(key, 50_000);
      // Those that nothing has happened to for a while count no more.
      await env.sleep(5_000);
      look('a', 50_000);
    });
    await world.run();
    expect(rests).toEqual([1_000, 1_000, 1_000, 1_000, 125, 1_500, 1_750, 2_000, 1_000]);
  });
});
