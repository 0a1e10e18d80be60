import { describe, expect, it } from 'vitest';
import { reasons, reasonTable } from './reasons.js';

describe('the reason table', () => {
  it('says of every reason what it means and what would cure it', () => {
    expect(reasons).toHaveLength(38);
    for (const reason of reasons) {
      expect(reason).toMatch(/^[A-Z][A-Za-z]+$/);
      expect(reasonTable[reason].meaning.length).toBeGreaterThan(20);
      expect(reasonTable[reason].cure.length).toBeGreaterThan(10);
    }
  });

  it('promises nothing to a caller whose epoch or ownership is gone', () => {
    for (const reason of ['StaleEpoch', 'NotOwner', 'AlreadyBound'] as const) {
      expect(reasonTable[reason].callerMay).toBe('never');
    }
  });
});
