import { expect, it } from 'vitest';
import { fenceContract } from './fence-contract.js';

it('[S5] the window outlasts the permit, whatever the clocks and a stall do within their bounds', () => {
  const { windowSeconds, permitSeconds, driftMax, stallSecondsMax, graceSeconds, killMarginSeconds } =
    fenceContract;
  expect(windowSeconds * (1 - driftMax)).toBeGreaterThanOrEqual(
    permitSeconds * (1 + driftMax) + stallSecondsMax,
  );
  expect(graceSeconds).toBeGreaterThan(killMarginSeconds);
});
