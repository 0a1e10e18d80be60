import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CoverItem, smallestCover } from './smallest-cover.js';

const covers = (items: readonly CoverItem[], needs: readonly number[]): boolean =>
  needs.every((need, index) => items.reduce((sum, { gives }) => sum + (gives[index] ?? 0), 0) >= need);
const keepsCaps = (items: readonly CoverItem[], left: (cap: string) => number): boolean =>
  items.every(({ cap }) => cap === undefined || items.filter((item) => item.cap === cap).length <= left(cap));
const weightOf = (items: readonly CoverItem[]): number => items.reduce((sum, { weight }) => sum + weight, 0);
const oldestOf = (items: readonly CoverItem[]): number => Math.min(...items.map(({ born }) => born));

/** All subsets, looked at one by one. */
function reference(
  items: readonly CoverItem[],
  needs: readonly number[],
  left: (cap: string) => number,
): readonly CoverItem[] | undefined {
  let best: readonly CoverItem[] | undefined;
  for (let bits = 0; bits < 2 ** items.length; bits++) {
    const some = items.filter((_, index) => (bits >> index) % 2 === 1);
    if (!covers(some, needs) || !keepsCaps(some, left)) continue;
    const order =
      best === undefined
        ? -1
        : some.length - best.length || weightOf(some) - weightOf(best) || oldestOf(best) - oldestOf(some);
    if (order < 0) best = some;
  }
  return best;
}

const item = fc.record({
  gives: fc.tuple(fc.nat(4), fc.nat(4)),
  weight: fc.nat(3),
  born: fc.nat(5),
  cap: fc.constantFrom(undefined, 'a', 'b'),
}) as fc.Arbitrary<CoverItem>;

describe('the smallest cover', () => {
  it('is what looking at every subset finds: the fewest, then the lightest, then the youngest', () => {
    let found = 0;
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 8 }),
        fc.tuple(fc.nat(9), fc.nat(9)),
        fc.nat(3),
        (items, needs, most) => {
          const left = (): number => most;
          const cover = smallestCover(items, needs, left);
          const best = reference(items, needs, left);
          expect(cover?.length).toBe(best?.length);
          if (cover === undefined || best === undefined) return;
          found += 1;
          expect(covers(cover, needs) && keepsCaps(cover, left)).toBe(true);
          expect([weightOf(cover), oldestOf(cover)]).toEqual([weightOf(best), oldestOf(best)]);
        },
      ),
      { numRuns: 2_000 },
    );
    expect(found).toBeGreaterThan(500);
  });

  it('covers without a needless item also where there are too many to look at all of them', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ gives: fc.tuple(fc.nat(99), fc.nat(99)), weight: fc.double({ min: 0, max: 1 }) }),
          { minLength: 60, maxLength: 80 },
        ),
        (made) => {
          const items = made.map((one, born): CoverItem => ({ ...one, born }));
          const needs = [0, 1].map(
            (index) => items.reduce((sum, { gives }) => sum + (gives[index] ?? 0), 0) * 0.4,
          );
          const cover = smallestCover(items, needs, () => 0) ?? [];
          expect(covers(cover, needs)).toBe(true);
          for (const one of cover)
            expect(
              covers(
                cover.filter((other) => other !== one),
                needs,
              ),
            ).toBe(false);
        },
      ),
      { numRuns: 50 },
    );
  });
});
