import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Amount } from '../../model/amount.js';
import { isWithin, leastOfAsk, mostOf, nameOfAsk } from './room.js';

const amount: fc.Arbitrary<Amount> = fc.record(
  {
    cpuMilli: fc.nat(100_000),
    memoryBytes: fc.nat(2 ** 40),
    devices: fc.dictionary(fc.constantFrom('gpu', 'constructor'), fc.nat(8)),
  },
  { requiredKeys: [] },
);

it('[L1] what fits is never taken for what does not, also by the name of its ask and by rooms put together', () => {
  fc.assert(
    fc.property(amount, amount, amount, (asked, one, other) => {
      if (!isWithin(asked, one)) return;
      expect(isWithin(leastOfAsk(asked), one)).toBe(true);
      expect(isWithin(leastOfAsk(asked), mostOf(one, other))).toBe(true);
      expect(isWithin(leastOfAsk(asked), mostOf(other, one))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

it('asks of one name are at least the same', () => {
  fc.assert(
    fc.property(amount, fc.nat(200), (asked, more) => {
      const other = { ...asked, cpuMilli: (asked.cpuMilli ?? 0) + more };
      if (nameOfAsk(asked) === nameOfAsk(other)) expect(leastOfAsk(asked)).toEqual(leastOfAsk(other));
    }),
  );
});

it.each([
  [{ cpuMilli: 64_000 }, { cpuMilli: 8_000 }, false],
  [{ cpuMilli: 1_000 }, { cpuMilli: 1_000 }, true],
  [{ cpuMilli: 0, memoryBytes: 1 }, { cpuMilli: -5, memoryBytes: 1 }, true],
  [{ devices: { gpu: 2 } }, { devices: { gpu: 1 } }, false],
  [{ devices: { gpu: 1 } }, {}, false],
])('%j in %j: %s', (asked, room, fits) => {
  expect(isWithin(asked, room)).toBe(fits);
});
