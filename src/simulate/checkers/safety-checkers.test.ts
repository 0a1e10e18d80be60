import { describe, expect, it } from 'vitest';
import { HonestCell } from './honest-cell.fixture.js';
import { safetyCheckers } from './safety-checkers.js';

describe('the safety checkers', () => {
  it('find nothing wrong in an ordinary day, after each commit and from scratch, and each had something to check', () => {
    const { all } = safetyCheckers();
    const cell = new HonestCell(all).ordinaryDay();
    expect(cell.violations).toEqual([]);
    expect(cell.whole()).toEqual([]);
    for (const checker of all) expect(checker.checked, checker.rule).toBeGreaterThan(0);
  });

  it('are one per rule that is about single commits, one more for silences, one for the order of traffic and stops, and two for drains', () => {
    expect(safetyCheckers().all.map(({ rule }) => rule)).toEqual([
      'S1',
      'S2',
      'S3',
      'S4',
      'S5',
      'S5',
      'S6',
      'S7',
      'S8',
      'S9',
      'S12',
      'S6',
      'S6',
      'S6',
    ]);
  });
});
