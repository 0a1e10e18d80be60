import { describe, expect, it } from 'vitest';
import { TestCell } from './cell.fixture.js';
import { LeaseTakeovers } from './lease-takeovers.js';

/** The lease of `old` was renewed at 10 s; what is found when the holder is another one after so many seconds more. */
function found(seconds: number, holder = 'patient', last = 'old'): readonly string[] {
  const checker = new LeaseTakeovers();
  const cell = new TestCell([checker]);
  checker.expectWait('patient');
  const put = (name: string, renewals: number): void =>
    void cell.transact('server', (draft) =>
      draft.put('/l/drain', { holder: name, durationSeconds: 15, renewals }),
    );
  put('old', 0);
  cell.nowMs = 9_000;
  put(last, 1);
  cell.nowMs += seconds * 1_000 - 1_000;
  put(holder, 0);
  return cell.messages;
}

describe('[S8] a lease of another', () => {
  it('is taken after it has stood for its whole duration', () => {
    expect(found(15)).toEqual([]);
    expect(found(14)[0]).toMatch(/was taken by patient from old, .* after 14000 ms, not 14985/);
  });

  it('is free when it was given up, and whoever promises nothing need not wait', () => {
    expect(found(1, 'patient', '')).toEqual([]);
    expect(found(1, 'rival')).toEqual([]);
    expect(found(1, 'old')).toEqual([]);
  });
});
