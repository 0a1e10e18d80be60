import { describe, expect, it } from 'vitest';
import { fenceContract } from '../../model/fence-contract.js';
import { TestCell } from './cell.fixture.js';
import { FenceWindow } from './fence-window.js';

function found(...steps: readonly (readonly [afterSeconds: number, record: object])[]): readonly string[] {
  const cell = new TestCell([new FenceWindow()]);
  for (const [seconds, record] of steps) {
    cell.nowMs += seconds * 1_000 - 1_000;
    cell.transact('server', (draft) => draft.put('/m/fence', { ...fenceContract, ...record }));
  }
  return cell.messages;
}
const asked = { windowSecondsNext: 50, operation: 'set/1' };
const lowered = { windowSeconds: 50, operation: 'set/1' };

describe('[S5] the fence window', () => {
  it('is lowered when the window that stands has passed since that was asked for', () => {
    expect(found([5, asked], [130, lowered])).toEqual([]);
    expect(found([5, asked], [129, lowered])[0]).toMatch(/from 130 s to 50 s after 129000 ms, not 129870/);
  });

  it('begins to wait anew when another is asked for, and is not lowered unasked', () => {
    const again = { ...asked, operation: 'set/2' };
    expect(found([5, asked], [100, again], [100, { ...lowered, operation: 'set/2' }])).toHaveLength(1);
    expect(found([500, lowered])).toHaveLength(1);
  });

  it('is raised at once', () => {
    expect(found([1, { windowSeconds: 200, operation: 'set/1' }])).toEqual([]);
  });
});
