import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SortedKeys } from './sorted-keys.js';

const key = fc
  .tuple(fc.constantFrom('a', 'b', 'ab', ''), fc.nat(30))
  .map(([tenant, name]) => `${tenant}/${name}`);
const step = fc.oneof(
  fc.record({ toggle: key }),
  fc.record({ look: fc.constantFrom('', 'a/', 'ab/', 'b/', 'c/') }),
);

it('whatever comes and goes, a look shows exactly the keys there are, in order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const keys = new SortedKeys();
      const expected = new Set<string>();
      for (const one of steps) {
        if ('look' in one) {
          const { from, to } = keys.range(one.look);
          const wanted = [...expected].filter((candidate) => candidate.startsWith(one.look)).toSorted();
          expect(keys.all.slice(from, to)).toEqual(wanted);
        } else if (expected.delete(one.toggle)) keys.delete(one.toggle);
        else {
          expected.add(one.toggle);
          keys.add(one.toggle);
        }
      }
      expect(keys.all).toEqual([...expected].toSorted());
    }),
    { numRuns: 500 },
  );
});
