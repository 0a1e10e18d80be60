import { describe, expect, it } from 'vitest';
import { fenceContract } from '../model/fence-contract.js';
import { leastWindowSeconds } from '../model/fence-problem.js';
import { fenceSlackMs, tightWindow } from './fence-terms.fixture.js';

const { permitSeconds, stallSecondsMax } = fenceContract;

describe('[S5] the worst that the fence has to bear, with the smallest window', () => {
  it('the job has ended when its successor begins, and not much earlier: no term is more than it must be', async () => {
    const slackMs = await fenceSlackMs();
    expect(slackMs).toBeGreaterThanOrEqual(0);
    expect(slackMs).toBeLessThan(50);
  });

  it('also if it was to start when the permit had nearly ended, or the machine was suspended meanwhile', async () => {
    // It never began: nothing that ran has to end.
    expect(await fenceSlackMs({}, { startsLate: true })).toBe(-Infinity);
    expect(await fenceSlackMs({}, { suspendedMs: 40_000 })).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['the margin for the kill', { fence: { killMarginSeconds: 0 } }],
    ['the kill', { isUnkilled: true }],
    ['the drift of clocks', { windowSeconds: permitSeconds + stallSecondsMax }],
    ['the stall', { windowSeconds: leastWindowSeconds({ ...fenceContract, stallSecondsMax: 0 }) }],
    ['that a permit counts from when the renewal was sent', { isFromAcknowledgement: true }],
    ['that the window counts from the last renewal', { isFromEarlierRenewal: true }],
  ])('without %s the two overlap', async (_, mutant) => {
    expect(await fenceSlackMs(mutant)).toBeLessThan(0);
  });

  it('without the grace a job that is told late begins, and overlaps', async () => {
    const mutant = { fence: { graceSeconds: 0 } };
    const slackMs = await fenceSlackMs(mutant, { startsLate: true });
    expect(slackMs).toBeLessThan(0);
    expect(slackMs).toBeGreaterThan(-60_000);
  });

  it('on a clock that does not count suspend the two overlap', async () => {
    expect(await fenceSlackMs({ isOnMonotonicTime: true }, { suspendedMs: 40_000 })).toBeLessThan(0);
  });

  it('the usual window has room beyond the smallest', () => {
    expect(fenceContract.windowSeconds).toBeGreaterThan(tightWindow);
  });
});
