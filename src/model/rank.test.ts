import { describe, expect, it } from 'vitest';
import { rankOfCharge, rankWeight } from './rank.js';

describe('ranks', () => {
  it('Guaranteed stands before Borrowed whatever the priorities, then priority decides', () => {
    expect(rankWeight('Guaranteed', -1_000_000_000)).toBeGreaterThan(rankWeight('Borrowed', 1_000_000_000));
    expect(rankWeight('Borrowed', 1)).toBeGreaterThan(rankWeight('Borrowed', 0));
    expect(rankWeight('Guaranteed', 1)).toBeGreaterThan(rankWeight('Guaranteed', 0));
  });

  it('a charge is Guaranteed if all of it is within the guarantee, beside what is Guaranteed already', () => {
    const books = { used: { cpuMilli: 5_000, replicas: 3 }, borrowed: { cpuMilli: 2_000 } };
    expect(rankOfCharge(books, { cpuMilli: 4_000 }, { cpuMilli: 1_000 })).toBe('Guaranteed');
    expect(rankOfCharge(books, { cpuMilli: 4_000 }, { cpuMilli: 1_001 })).toBe('Borrowed');
    expect(rankOfCharge(books, { cpuMilli: 4_000 }, { cpuMilli: 1, memoryBytes: 1 })).toBe('Borrowed');
    expect(rankOfCharge(books, {}, {})).toBe('Guaranteed');
  });
});
