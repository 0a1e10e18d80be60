import { expect, it } from 'vitest';
import { renewPeriodSeconds } from './renew-period.js';

it.each([
  [0, 5],
  [2_500, 5],
  [4_000, 8],
  [5_000, 10],
  [100_000, 10],
])('%i nodes renew every %d seconds', (nodes, seconds) => {
  expect(renewPeriodSeconds(nodes)).toBe(seconds);
});
