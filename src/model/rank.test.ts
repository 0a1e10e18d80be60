import { describe, expect, it } from 'vitest';
import { rankWeight } from './rank.js';

describe('ranks', () => {
  it('Guaranteed stands before Borrowed whatever the priorities, then priority decides', () => {
    expect(rankWeight('Guaranteed', -1_000_000_000)).toBeGreaterThan(rankWeight('Borrowed', 1_000_000_000));
    expect(rankWeight('Borrowed', 1)).toBeGreaterThan(rankWeight('Borrowed', 0));
    expect(rankWeight('Guaranteed', 1)).toBeGreaterThan(rankWeight('Guaranteed', 0));
  });
});
