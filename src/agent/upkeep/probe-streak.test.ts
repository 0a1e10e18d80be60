import { describe, expect, it } from 'vitest';
import { afterAnswer, noStreak } from './probe-streak.js';

describe('answers of a probe in a row', () => {
  it.each<[string, number, number, string]>([
    ['', 1, 3, 'Unknown'],
    ['+', 1, 3, 'Passing'],
    ['+', 2, 3, 'Unknown'],
    ['+-+', 2, 3, 'Unknown'],
    ['++', 2, 3, 'Passing'],
    ['--', 1, 3, 'Unknown'],
    ['---', 1, 3, 'Failing'],
    ['+--', 1, 3, 'Passing'],
    ['+---', 1, 3, 'Failing'],
    ['+--+--', 1, 3, 'Passing'],
    ['---+', 2, 3, 'Failing'],
    ['---++', 2, 3, 'Passing'],
  ])('%s with thresholds %i and %i count as %s', (answers, successThreshold, failureThreshold, expected) => {
    let streak = noStreak;
    for (const answer of answers)
      streak = afterAnswer(streak, answer === '+', { successThreshold, failureThreshold });
    expect(streak.verdict).toBe(expected);
  });
});
