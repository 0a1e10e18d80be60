import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../model/ports.js';
import { type Reason, reasons } from '../../model/reasons.js';
import { requeueOf, type Verdict, verdictOf, whyNot, worstOf } from './verdict.js';

const rejected = (reason: Reason): Outcome<undefined> => ({
  ...{ kind: 'Rejected', reason, message: 'm', revision: '1' },
});

describe('the verdict on an answer of the authority', () => {
  it.each<[Outcome<undefined>, Verdict]>([
    [{ kind: 'Committed', result: undefined, revision: '1' }, 'Done'],
    [{ kind: 'AlreadyCommitted', result: undefined, revision: '1' }, 'Done'],
    [{ kind: 'UnknownOutcome', message: '' }, 'Retry'],
    [rejected('StaleEpoch'), 'Stale'],
    [rejected('NotOwner'), 'Refused'],
    [rejected('SlotTaken'), 'Retry'],
    [rejected('Contended'), 'Retry'],
  ])('%j is %s', (outcome, verdict) => {
    expect(verdictOf(outcome)).toBe(verdict);
  });

  it('is known for every reason, and only a stale epoch ends a term', () => {
    for (const reason of reasons)
      expect(verdictOf(rejected(reason)) === 'Stale').toBe(reason === 'StaleEpoch');
  });

  it('of several is the worst', () => {
    expect(worstOf([])).toBe('Done');
    expect(worstOf(['Done', 'Retry', 'Refused'])).toBe('Retry');
    expect(worstOf(['Stale', 'Retry'])).toBe('Stale');
  });

  it('says why, and when to look again', () => {
    expect(whyNot(rejected('SlotTaken'))).toBe('SlotTaken: m');
    expect(whyNot({ kind: 'Committed', result: undefined, revision: '1' })).toBeUndefined();
    expect(requeueOf('Retry', 'w')).toEqual({ kind: 'again', reason: 'w' });
    expect(requeueOf('Refused', 'w')).toEqual({ kind: 'done' });
  });
});
