import { describe, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.js';

describe('TokenBucket', () => {
  it('lets a burst through, then no more than the rate', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 0);
    expect([1, 2, 3, 4].map(() => bucket.take(0))).toEqual([true, true, true, false]);
    expect(bucket.msUntilNext(0)).toBeCloseTo(100);
    expect(bucket.take(99)).toBe(false);
    expect(bucket.take(100)).toBe(true);
    let taken = 0;
    for (let ms = 100; ms <= 10_100; ms++) if (bucket.take(ms)) taken += 1;
    expect(taken).toBe(100);
  });

  it('says when the token of each who waits comes, also past what it saves up', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 0);
    expect([1, 3, 4, 13].map((tokens) => bucket.msUntil(tokens, 0))).toEqual([0, 0, 100, 1_000]);
  });

  it('saves up no more than a burst', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 0);
    expect([1, 2, 3, 4].map(() => bucket.take(3_600_000))).toEqual([true, true, true, false]);
  });
});
