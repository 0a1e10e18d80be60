import { describe, expect, it } from 'vitest';
import { backoffAfter } from './backoff.js';
import { SeededRandom } from './random.js';

describe('backoffAfter', () => {
  it('doubles with each failure up to its bound, and leaves half of the wait to chance', () => {
    const random = new SeededRandom('backoff');
    for (const [failures, fullMs] of [
      [1, 100],
      [2, 200],
      [5, 1_600],
      [8, 10_000],
      [1_000, 10_000],
    ] as const) {
      const waits = Array.from({ length: 200 }, () =>
        backoffAfter({ firstMs: 100, mostMs: 10_000 }, failures, random),
      );
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(fullMs / 2);
      expect(Math.max(...waits)).toBeLessThan(fullMs);
      expect(new Set(waits).size).toBeGreaterThan(100);
    }
  });
});
