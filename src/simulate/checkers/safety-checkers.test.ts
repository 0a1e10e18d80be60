import { describe, expect, it } from 'vitest';
import { HonestCell } from './honest-cell.fixture.js';
import { safetyCheckers } from './safety-checkers.js';

describe('the safety checkers', () => {
  it('find nothing wrong in an ordinary day, after each commit and from scratch, and each had something to check', () => {
    const { all, ofDurations } = safetyCheckers();
    const cell = new HonestCell(all).ordinaryDay();
    expect(cell.violations).toEqual([]);
    expect(cell.whole()).toEqual([]);
    // In a short day no duration runs out: each of these has a test of its own.
    for (const checker of all.filter((one) => !ofDurations.includes(one)))
      expect(checker.checked, checker.rule).toBeGreaterThan(0);
  });

  it('are one per rule that is about single commits, one for the order of traffic and stops, two for drains, and those of durations', () => {
    const { all, ofDurations } = safetyCheckers();
    expect(all.filter((one) => !ofDurations.includes(one)).map(({ rule }) => rule)).toEqual([
      ...['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S12'],
      ...['S6', 'S6', 'S6'],
    ]);
    expect(all.filter((one) => ofDurations.includes(one))).toEqual(ofDurations);
  });
});
