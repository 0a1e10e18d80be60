import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBerthError } from './errors.js';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  subtractQuantities,
  type Quantity,
} from './quantity.js';

describe('a quantity', () => {
  it.each([
    ['500m', 500_000_000n],
    ['0.5', 500_000_000n],
    ['.5', 500_000_000n],
    ['5.', 5_000_000_000n],
    [2, 2_000_000_000n],
    [0.1, 100_000_000n],
    [1e21 / 1e6, 1_000_000_000_000_000n * 1_000_000_000n],
    ['1e3', 1_000_000_000_000n],
    ['1E3', 1_000_000_000_000n],
    ['1e-3', 1_000_000n],
    ['1E', 10n ** 27n],
    ['1Ei', 1024n ** 6n * 1_000_000_000n],
    ['4Gi', 4n * 1024n ** 3n * 1_000_000_000n],
    ['0.5Ki', 512n * 1_000_000_000n],
    ['1n', 1n],
    ['3u', 3_000n],
    ['-1k', -1_000_000_000_000n],
    ['+1', 1_000_000_000n],
  ])('reads %s exactly', (text, nano) => {
    expect(parseQuantity(text)).toBe(nano);
  });

  it.each(['', 'm', '.', '1 Gi', '1gi', '1K', '4GiB', '1e', '1e3m', '0x10', '1,5', 'NaN', '--1', '１'])(
    'refuses %j and says what is allowed',
    (text) => {
      expect(() => parseQuantity(text)).toThrow(/is not a quantity: write a number.*Ki Mi Gi/);
    },
  );

  it.each([
    ['0.1n', /finer than a billionth/],
    ['1e-10', /finer than a billionth/],
    ['1e999', /at most 9223372036854775807/],
    ['10E', /at most 9223372036854775807/],
    ['1'.repeat(65), /write a number/],
    [Number.POSITIVE_INFINITY, /is not a quantity/],
  ])('refuses %s, which cannot be kept exactly', (value, why) => {
    expect(() => parseQuantity(value)).toThrow(why);
  });

  it('names the value it refuses, under one code', () => {
    try {
      parseQuantity('4GB');
      expect.unreachable();
    } catch (error) {
      expect(isBerthError(error, 'InvalidQuantity') && error.details).toEqual({ value: '4GB' });
      expect(String(error)).toContain('"4GB"');
    }
  });

  it.each([
    ['1500m', 'decimal', '1500m'],
    ['2', 'decimal', '2'],
    ['2000', 'decimal', '2k'],
    ['0.000000001', 'decimal', '1n'],
    ['4096Mi', 'binary', '4Gi'],
    ['1536Mi', 'binary', '1536Mi'],
    ['1000', 'binary', '1000'],
    ['0.5Ki', 'binary', '512'],
    ['500m', 'binary', '500m'],
    ['-2Gi', 'binary', '-2Gi'],
    ['0', 'binary', '0'],
  ] as const)('writes %s in %s form as %s', (text, family, canonical) => {
    expect(formatQuantity(parseQuantity(text), family)).toBe(canonical);
  });

  const quantity = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map((nano) => nano as Quantity);
  const family = fc.constantFrom('decimal', 'binary');

  it('survives writing and reading, and its written form is the same ever after', () => {
    fc.assert(
      fc.property(quantity, family, (amount, form) => {
        const text = formatQuantity(amount, form);
        expect(parseQuantity(text)).toBe(amount);
        expect(formatQuantity(parseQuantity(text), form)).toBe(text);
        expect(text).toMatch(/^-?\d+([numkMGTPE]|[KMGTPE]i)?$/);
      }),
    );
  });

  it('adds, subtracts and compares as numbers do, without rounding', () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        expect(subtractQuantities(addQuantities(a, b), b)).toBe(a);
        expect(Math.sign(compareQuantities(a, b))).toBe(a < b ? -1 : a > b ? 1 : 0);
        expect(compareQuantities(a, b) + compareQuantities(b, a)).toBe(0);
      }),
    );
  });

  it('ends any text in a quantity or in InvalidQuantity', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(typeof parseQuantity(text)).toBe('bigint');
        } catch (error) {
          expect(isBerthError(error, 'InvalidQuantity')).toBe(true);
        }
      }),
    );
  });
});
