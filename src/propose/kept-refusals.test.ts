import { describe, expect, it } from 'vitest';
import type { DecisionDraft } from './contract.js';
import { KeptRefusals } from './kept-refusals.js';

const draft = (full: number, more: Partial<DecisionDraft> = {}): DecisionDraft => ({
  ...{ workload: 'w', revision: 'w-1', generation: 1, policyRevision: 'p', result: 'NotPlaced' },
  ...{ reason: 'NodeFull', rejections: [{ reason: 'NodeFull', count: full, nodes: ['n1'] }] },
  ...{ snapshot: { revision: '1', ageMs: 0, nodes: 9 }, ...more },
});

let decisions = 0;
/** Whether a turn is kept; its receipt is another one otherwise. */
const isNews = (kept: KeptRefusals, lot: string, one: DecisionDraft, nowMs: number): boolean => {
  decisions += 1;
  return kept.receiptFor(lot, `decision-${decisions}`, one, nowMs) === `decision-${decisions}`;
};

describe('KeptRefusals', () => {
  it('names the receipt that says it', () => {
    const kept = new KeptRefusals();
    expect(kept.receiptFor('a', 'first', draft(9), 0)).toBe('first');
    expect(kept.receiptFor('a', 'second', draft(9), 5)).toBe('first');
    expect(kept.receiptFor('a', 'third', draft(8), 6)).toBe('third');
  });

  it('is told once of a lot for which nothing has changed, on whatever snapshot it was tried', () => {
    const kept = new KeptRefusals();
    const later = { snapshot: { revision: '7', ageMs: 3, nodes: 9 } };
    expect([isNews(kept, 'a', draft(9), 0), isNews(kept, 'a', draft(9, later), 5)]).toEqual([true, false]);
    expect(isNews(kept, 'b', draft(9), 5)).toBe(true);
  });

  it.each<[string, DecisionDraft]>([
    ['another count', draft(8)],
    ['another reason', draft(9, { reason: 'Tainted' })],
    ['another generation', draft(9, { generation: 2 })],
    ['another policy', draft(9, { policyRevision: 'q' })],
    ['another number of nodes', draft(9, { snapshot: { revision: '1', ageMs: 0, nodes: 10 } })],
  ])('takes %s for news', (_, other) => {
    const kept = new KeptRefusals();
    isNews(kept, 'a', draft(9), 0);
    expect([isNews(kept, 'a', other, 5), isNews(kept, 'a', other, 6)]).toEqual([true, false]);
  });

  it('says it again after ten minutes, and after something was placed', () => {
    const kept = new KeptRefusals();
    isNews(kept, 'a', draft(9), 0);
    expect([599_999, 600_000].map((ms) => isNews(kept, 'a', draft(9), ms))).toEqual([false, true]);
    kept.forget('a');
    expect(isNews(kept, 'a', draft(9), 600_001)).toBe(true);
  });

  it('is bounded: past the most it forgets the one kept longest ago', () => {
    const kept = new KeptRefusals(2);
    for (const lot of ['a', 'b', 'c']) isNews(kept, lot, draft(9), 0);
    expect(['b', 'c', 'a'].map((lot) => isNews(kept, lot, draft(9), 1))).toEqual([false, false, true]);
  });
});
