import { describe, expect, it } from 'vitest';
import { beyond, isNothing, least } from './amount-parts.js';

describe('amounts taken apart', () => {
  it('what is missing is what is asked for beyond what is free, and more where less than nothing is free', () => {
    const wanted = { cpuMilli: 2000, devices: { gpu: 2 } };
    expect(beyond(wanted, { cpuMilli: 500, memoryBytes: -9, devices: { gpu: 3 } })).toEqual({
      cpuMilli: 1500,
      memoryBytes: 0,
      devices: {},
    });
    expect(beyond(wanted, { cpuMilli: -1000 })).toEqual({
      cpuMilli: 3000,
      memoryBytes: 0,
      devices: { gpu: 2 },
    });
  });

  it('the smaller of two counts is never below zero, and what neither names is nothing', () => {
    const less = least(
      { cpuMilli: 5, devices: { gpu: 2, constructor: 1 } },
      { cpuMilli: 7, devices: { gpu: 1 } },
    );
    expect(less).toEqual({ cpuMilli: 5, memoryBytes: 0, devices: { gpu: 1 } });
    expect(isNothing(less)).toBe(false);
    expect(isNothing(least({ cpuMilli: 5 }, { cpuMilli: -5 }))).toBe(true);
  });
});
