import { describe, expect, it } from 'vitest';
import { Attestations } from './attestations.js';
import { TestCell } from './cell.fixture.js';

/** A word that counts for 40 s is given at 10 s; what is found when the record is another one after so many seconds. */
function found(
  seconds: number,
  next: object = { epoch: { cell: 1, number: 1 } },
  termAt = 0,
): readonly string[] {
  const cell = new TestCell([new Attestations()]);
  const put = (key: string, value: unknown): void =>
    void cell.transact('server', (draft) => draft.put(key, value));
  const lead = (number: number): void => put('/l/repair-controller', { epoch: { cell: 1, number } });
  lead(1);
  cell.nowMs = 9_000;
  const attestation = { forSeconds: 40, operation: 'attest/1' };
  put('/e/n1', { epoch: { cell: 1, number: 1 }, attestation });
  if (termAt > 0) {
    cell.nowMs = termAt * 1_000 - 1_000;
    lead(2);
  }
  cell.nowMs = (10 + seconds) * 1_000 - 1_000;
  put('/e/n1', next);
  return cell.messages;
}

describe('[S10] the word of a human', () => {
  it('is over when its time is, counted under one leader', () => {
    expect(found(40)).toEqual([]);
    expect(found(39)[0]).toMatch(/what a human attests was over after 39000 ms, not 39960/);
    expect(found(79, undefined, 50)).toHaveLength(1);
    expect(found(80, undefined, 50)).toEqual([]);
  });

  it('is over with the epoch that it is about', () => {
    expect(found(3, { epoch: { cell: 1, number: 2 } })).toEqual([]);
  });
});
