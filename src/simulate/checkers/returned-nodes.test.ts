import { describe, expect, it } from 'vitest';
import { type NodeEpoch, nodeEpochKey, nodeLeaseName, objectKey } from '../../model/records.js';
import { HonestCell } from './honest-cell.fixture.js';
import { returnedNodesTakeWork } from './returned-nodes.js';

/** Node n1 falls silent and is back; `quiet`: what happens in the window that is looked at. */
function judged(quiet: (cell: HonestCell) => void, upNodes: readonly string[] = []) {
  const cell = new HonestCell().settled();
  cell.judge('n1', 'Unknown');
  const from = cell.commits.length;
  quiet(cell);
  const { checked, violations } = returnedNodesTakeWork(cell, {
    ...{ rejectedBinds: [], windows: [], endMs: cell.nowMs, upNodes },
    ...{ commits: cell.commits, quietCommits: cell.commits.slice(from), actsAt: () => [] },
  });
  return { checked, messages: violations.map(({ message }) => message) };
}
const renewed = [nodeLeaseName('n1'), nodeLeaseName('n2')];

describe('[L3] a node that comes back', () => {
  it('and takes work again is fine', () => {
    const found = judged((cell) => {
      cell.judge('n1', 'Fresh');
      cell.pass(10, renewed);
    });
    expect(found).toEqual({ checked: 1, messages: [] });
  });

  it('and stays closed is noticed', () => {
    expect(judged((cell) => cell.pass(10, renewed))).toEqual({
      checked: 1,
      messages: ['node n1 is back and renews its lease; it is Unknown, its gate is Closed (no reason)'],
    });
  });

  it('and renews under an epoch that was closed is noticed', () => {
    const { messages } = judged((cell) => {
      cell.judge('n1', 'Fresh');
      cell.transact('server-1', (draft) =>
        draft.change<NodeEpoch>(nodeEpochKey('n1'), (epoch) => ({ ...epoch, state: 'Closed' })),
      );
      cell.pass(10, renewed);
    });
    expect(messages).toEqual(['node n1 is back and renews its lease under an epoch that is Closed']);
  });

  it('and renews nothing although its agent is up is noticed, whether it was ever closed or not', () => {
    const { checked, messages } = judged((cell) => cell.pass(10, []), ['n1', 'n2', 'n9']);
    expect(checked).toBe(2);
    expect(messages).toEqual([
      'the agent of n1 is up and does not renew its lease',
      'the agent of n2 is up and does not renew its lease',
    ]);
  });

  it('is one that was away and is heard of: who stays silent, never was closed or is gone shows nothing', () => {
    expect(judged((cell) => cell.pass(10, [nodeLeaseName('n2')]))).toEqual({ checked: 0, messages: [] });
    const gone = judged((cell) => {
      cell.transact('user', (draft) => draft.put(objectKey('Node', undefined, 'n1'), undefined));
      cell.pass(10, renewed);
    });
    expect(gone.checked).toBe(0);
  });
});
