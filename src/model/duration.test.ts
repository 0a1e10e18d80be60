import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDurationMs } from './duration.js';

describe('a duration', () => {
  it.each([
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['45s', 45_000],
    ['250ms', 250],
    ['1h1ms', 3_600_001],
    ['0s', 0],
    ['90m', 5_400_000],
  ])('reads %s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '10', '1.5h', '30m1h', '1h1h', '-5s', '5 s', '1d', 'h', '999999999999999h'])(
    'refuses %j and says what is allowed',
    (text) => {
      expect(() => parseDurationMs(text)).toThrow(`"${text}" is not a duration: write whole numbers`);
    },
  );

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses to write %s', (ms) => {
    expect(() => formatDuration(ms)).toThrow('is not a whole number of milliseconds');
  });

  it('survives writing and reading', () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (ms) => {
        expect(parseDurationMs(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});
