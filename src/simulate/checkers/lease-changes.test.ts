import { expect, it } from 'vitest';
import { TestCell } from './cell.fixture.js';
import { LeaseChanges } from './lease-changes.js';

it('[S5] a leader may not have seen the latest renewals, and has seen every one that is older than 17 s', () => {
  const leases = new LeaseChanges();
  const cell = new TestCell();
  expect(leases.lastMs('node-n1')).toBe(Number.POSITIVE_INFINITY);
  expect(leases.seenMs('node-n1', 1_000)).toBe(Number.POSITIVE_INFINITY);
  for (const seconds of [5, 10, 15, 20, 25]) {
    cell.nowMs = seconds * 1_000 - 1_000;
    leases.onCommit(cell.transact('server', (draft) => draft.put('/l/node-n1', { renewals: seconds })));
  }
  expect(leases.lastMs('node-n1')).toBe(25_000);
  expect(leases.seenMs('node-n1', 26_999)).toBe(5_000);
  expect(leases.seenMs('node-n1', 27_000)).toBe(10_000);
  expect(leases.seenMs('node-n1', 42_000)).toBe(25_000);
});
