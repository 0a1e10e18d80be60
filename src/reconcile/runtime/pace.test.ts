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
});
