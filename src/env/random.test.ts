import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesFrom, SeededRandom, uuidFrom } from './random.js';

const draw = (random: { uint32(): number }, count: number): number[] =>
  Array.from({ length: count }, () => random.uint32());

describe('SeededRandom', () => {
  it('gives the same numbers for the same path and others for another', () => {
    expect(draw(new SeededRandom('a'), 20)).toEqual(draw(new SeededRandom('a'), 20));
    expect(draw(new SeededRandom('a'), 20)).not.toEqual(draw(new SeededRandom('b'), 20));
  });

  it('splits by name alone: what was drawn before or elsewhere changes nothing', () => {
    const untouched = new SeededRandom('seed').stream('network');
    const parent = new SeededRandom('seed');
    draw(parent, 7);
    draw(parent.stream('disk'), 9);
    expect(draw(parent.stream('network'), 20)).toEqual(draw(untouched, 20));
  });

  it('tells paths apart that would read the same when joined', () => {
    const one = new SeededRandom('s').stream('a').stream('b');
    const other = new SeededRandom('s').stream('a/1:b');
    expect(draw(one, 4)).not.toEqual(draw(other, 4));
  });

  it('draws every integer below the bound about equally often', () => {
    const random = new SeededRandom('fair');
    const counts = Array.from({ length: 7 }, () => 0);
    for (let count = 0; count < 70_000; count++) {
      const drawn = random.integer(7);
      counts[drawn] = (counts[drawn] ?? 0) + 1;
    }
    // Six standard deviations around the mean of 10,000.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(560);
  });

  it('stays within its bounds', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 2 ** 32 }), (path, below) => {
        const random = new SeededRandom(path);
        const float = random.float();
        const integer = random.integer(below);
        return float >= 0 && float < 1 && Number.isInteger(integer) && integer >= 0 && integer < below;
      }),
    );
    expect(() => new SeededRandom('x').integer(0)).toThrow('allowed is a whole number from 1');
    expect(() => new SeededRandom('x').pick([])).toThrow('the list is empty');
  });

  it('gives exactly as many bytes as asked for, the same for the same path', () => {
    for (const count of [0, 1, 3, 4, 5, 32]) {
      expect(bytesFrom(new SeededRandom('bytes'), count)).toHaveLength(count);
    }
    expect(bytesFrom(new SeededRandom('a'), 32)).toEqual(bytesFrom(new SeededRandom('a'), 32));
    expect(bytesFrom(new SeededRandom('a'), 32)).not.toEqual(bytesFrom(new SeededRandom('b'), 32));
  });

  it('makes ids of the standard form that do not repeat', () => {
    const random = new SeededRandom('ids');
    const ids = Array.from({ length: 1000 }, () => uuidFrom(random));
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
