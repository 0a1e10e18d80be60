import { describe, expect, it } from 'vitest';
import { amountOf, amountsOf } from './amount.js';
import { type CountedUnit, countedError } from './counted.js';

describe('a quantity that is counted', () => {
  it.each<[string | number, CountedUnit]>([
    ['0', 'cores'],
    ['1n', 'cores'],
    [0.1, 'cores'],
    ['9007199254740', 'cores'],
    ['7Pi', 'bytes'],
    [Number.MAX_SAFE_INTEGER, 'bytes'],
  ])('is %s %s', (value, unit) => {
    expect(countedError(value, unit)).toBeUndefined();
  });

  it.each<[string | number, CountedUnit, RegExp]>([
    [
      '8Pi',
      'bytes',
      /^must be at most 9007199254740991 bytes, which is just below 8Pi: more cannot be counted/,
    ],
    [2 ** 53, 'bytes', /^must be at most/],
    ['1Ei', 'bytes', /^must be at most/],
    ['10P', 'cores', /^must be at most 9007199254740 cores: more cannot be counted exactly$/],
    ['16Ei', 'bytes', /^must be a number/],
    [1e30, 'bytes', /^must be a number/],
    [-1, 'cores', /; not negative$/],
    ['-1', 'cores', /; not negative$/],
    [0.1 + 0.2, 'cores', /^must be a number/],
    ['4GB', 'bytes', /^must be a number/],
  ])('is not %s %s', (value, unit, message) => {
    expect(countedError(value, unit)).toMatch(message);
  });

  it('[S3] is read from disk as it was written, also where it was stored before it was refused', () => {
    const amount = amountOf({ cpu: '1E', memory: '16Pi' });
    expect(JSON.parse(JSON.stringify(amount))).toEqual(amount);
    expect(amountOf(amountsOf(amount))).toEqual(amount);
  });
});
