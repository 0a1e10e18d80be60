import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FirstSeen } from './first-seen.js';

describe('FirstSeen', () => {
  it('counts from the first look, on the clock of this process, and forgets what is not retained', async () => {
    const world = new VirtualTime({ seed: 1 });
    const { env } = world.machine('m', { wallOffsetMs: 3_600_000 });
    const seen = new FirstSeen(env);
    expect([seen.ageMs('g', 'a'), seen.ageMs('g', 'b'), seen.ageMs('h', 'a')]).toEqual([0, 0, 0]);
    env.after(500, () => undefined);
    await world.run();
    expect([seen.ageMs('g', 'a'), seen.ageMs('g', 'c')]).toEqual([500, 0]);
    seen.retain('g', ['b']);
    seen.retain('h', ['b', 'a']);
    expect([seen.ageMs('g', 'a'), seen.ageMs('g', 'b'), seen.ageMs('h', 'a')]).toEqual([0, 500, 500]);
    seen.retain('g', []);
    seen.retain('h', []);
    expect(seen.size).toBe(0);
  });
});
