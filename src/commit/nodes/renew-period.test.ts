import { expect, it } from 'vitest';
import { renewPeriodSeconds } from './renew-period.js';

it.each([
  [0, 120, 5],
  [2_500, 120, 5],
  [4_000, 120, 8],
  [5_000, 120, 10],
  [100_000, 120, 10],
  [10, 4, 0.8],
])('%i nodes whose fences permit %d s renew every %d seconds', (nodes, permitSeconds, seconds) => {
  expect(renewPeriodSeconds(nodes, permitSeconds)).toBe(seconds);
});
