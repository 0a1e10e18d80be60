import { expect, it } from 'vitest';
import { backoffMs } from './backoff.js';
import { SeededRandom } from './random.js';

const policy = { backoffMsMin: 100, backoffMsMax: 1_000 };

it('a pause is at least half of what it doubles to, and never over the bound', () => {
  const random = new SeededRandom('backoff');
  for (let failures = 0; failures < 200; failures++) {
    const wholeMs = Math.min(1_000, 100 * 2 ** failures);
    const pauseMs = backoffMs(policy, failures, random);
    expect(pauseMs).toBeGreaterThanOrEqual(wholeMs / 2);
    expect(pauseMs).toBeLessThanOrEqual(wholeMs);
  }
  expect(backoffMs(policy, Number.POSITIVE_INFINITY, random)).toBeLessThanOrEqual(1_000);
});
