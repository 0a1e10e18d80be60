import { describe, expect, it } from 'vitest';
import type { ReplicaStatus, ReplicaTransition } from '../../model/kinds/replica.js';
import {
  type LeaseEnd,
  leaseKey,
  type LeaseRecord,
  nobody,
  nodeAccountKey,
  nodeEpochKey,
} from '../../model/records.js';
import { Epochs } from './epochs.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';

function bound(): HonestCell {
  const cell = new HonestCell([new Epochs()]).settled();
  cell.incarnate('web');
  cell.bind('web-0-1', 'n1');
  return cell;
}
const put = (cell: HonestCell, key: string, patch: object | undefined): void => {
  cell.transact('server-1', (draft) =>
    draft.put(key, patch && { ...(draft.get(key) as object | undefined), ...patch }),
  );
};
/** The next move as if it had been decided on another epoch, lease or nothing. */
const claiming = (cell: HonestCell, patch: object): HonestCell =>
  cell.altering((draft) =>
    draft.change<{ status: ReplicaStatus }>(replicaKey('web-0-1'), ({ status }) => {
      const transitions = status.transitions ?? [];
      const last = { ...transitions.at(-1), ...patch } as ReplicaTransition;
      return { status: { ...status, transitions: transitions.with(transitions.length - 1, last) } };
    }),
  );
const second = { cell: 1, number: 2 };
const ended = (holder: string, number: number, endedBy: string): LeaseEnd => ({
  ...{ holder, epoch: { cell: 1, number }, endedBy, endedAt: '2026-01-01T00:00:00Z', reason: 'Test' },
});
const serving = (cell: HonestCell): HonestCell => {
  cell.move('web-0-1', 'Starting', 'agent:n1');
  cell.move('web-0-1', 'Ready', 'agent:n1');
  return cell;
};

describe('[S8] a write under an old epoch never commits', () => {
  it('and nothing is said of writes under the current one, also after it grew', () => {
    const cell = bound();
    put(cell, nodeEpochKey('n1'), { epoch: second });
    const key = leaseKey('endpoints-controller');
    const { holder } = cell.get(key) as LeaseRecord;
    put(cell, key, { epoch: second, holder: 'other', lastTerm: ended(holder, 1, 'other') });
    serving(cell).move('web-0-1', 'Serving', 'endpoints-controller');
    put(cell, key, { holder: nobody, lastTerm: ended('other', 2, 'other') });
    put(cell, key, { epoch: { cell: 1, number: 3 }, holder: 'next' });
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it.each([
    [
      'an old epoch of its lease',
      { epoch: { cell: 1, number: 0 } },
      'it acted under 1.0 of lease endpoints-controller',
    ],
    ['a lease that is not there', { evidence: { lease: 'endpoints-controller-9' } }, 'which is at none'],
    [
      'another’s lease',
      { evidence: { lease: 'scheduler' } },
      'under lease scheduler, not endpoints-controller',
    ],
    ['no lease', { evidence: {} }, 'it names epoch 1.1 of lease none'],
    ['no epoch', { epoch: undefined }, 'it names epoch none of lease endpoints-controller'],
  ])('a controller that acts under %s is noticed', (_, patch, what) => {
    const cell = serving(bound());
    claiming(cell, patch).move('web-0-1', 'Serving', 'endpoints-controller');
    expect(cell.messages.join()).toContain(what);
  });

  it.each([
    ['an old epoch', { epoch: second }, {}, 'it acted under 1.1, node n1 is at 1.2'],
    ['a closed epoch', { state: 'Closed' }, {}, 'epoch 1.1 of node n1 is closed'],
    ['no epoch', {}, { epoch: undefined }, 'it names no epoch'],
  ])('an agent that reports under %s is noticed', (_, record, patch, what) => {
    const cell = bound();
    put(cell, nodeEpochKey('n1'), record);
    claiming(cell, { epoch: { cell: 1, number: 1 }, ...patch }).move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.messages.join()).toContain(what);
  });

  it.each([
    ['closed', { state: 'Closed' }, 'names epoch 1.1, the node is at 1.1, Closed'],
    ['followed by another', { epoch: second }, 'names epoch 1.1, the node is at 1.2, Open'],
  ])('an account that still names an epoch that was %s is noticed, then and later', (_, record, what) => {
    const cell = bound();
    put(cell, nodeAccountKey('n1'), { epoch: { cell: 1, number: 1 } });
    expect(cell.violations).toEqual([]);
    put(cell, nodeEpochKey('n1'), record);
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole().map(({ message }) => message)).toEqual([`/a/node/n1 ${what}`]);
  });

  it('an epoch that the same transaction changes afterwards does not matter', () => {
    const cell = bound();
    cell.altering((draft) => draft.change<object>(nodeEpochKey('n1'), (old) => ({ ...old, epoch: second })));
    cell.move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.violations).toEqual([]);
  });
});

describe('[S8] epochs only grow', () => {
  it.each([
    ['lease', leaseKey('drain')],
    ['node', nodeEpochKey('n1')],
  ])('the epoch of a %s that shrinks is noticed, and found again from scratch', (_, key) => {
    const cell = bound();
    put(cell, key, { epoch: second });
    put(cell, key, { epoch: { cell: 1, number: 1 } });
    expect(cell.messages).toContain(`${key} went from epoch 1.2 back to 1.1`);
    expect(cell.whole()).toHaveLength(1);
  });

  it.each([
    ['by another', { holder: nobody, lastTerm: ended('drain-1', 1, 'thief') }, 'ended by drain-1'],
    ['under an older epoch', { holder: nobody, lastTerm: ended('drain-1', 0, 'drain-1') }, 'it was term 1.1'],
    ['without saying so', { holder: nobody }, 'names no term'],
    ['and taken by who does not say so', { holder: 'next', epoch: second }, 'names no term'],
  ])('a lease that is released %s is noticed', (_, patch, what) => {
    const cell = bound();
    put(cell, leaseKey('drain'), patch);
    expect(cell.messages.join()).toContain(what);
  });

  it.each([
    ['renewed', { renewals: 7 }, 'was written under 1.1 after it was released'],
    ['taken under the same epoch', { holder: 'next' }, 'was written under 1.1 after it was released'],
    [
      'taken by who forgets the release',
      { holder: 'next', epoch: second, lastTerm: ended('x', 1, 'x') },
      'next changed what stood there',
    ],
  ])('a lease that was released and is %s is noticed', (_, patch, what) => {
    const cell = bound();
    put(cell, leaseKey('drain'), { holder: nobody, lastTerm: ended('drain-1', 1, 'drain-1') });
    expect(cell.violations).toEqual([]);
    put(cell, leaseKey('drain'), patch);
    expect(cell.messages.join()).toContain(what);
  });

  it('a controller that acts under a lease that was released is noticed', () => {
    const cell = serving(bound());
    const key = leaseKey('endpoints-controller');
    const { holder } = cell.get(key) as LeaseRecord;
    put(cell, key, { holder: nobody, lastTerm: ended(holder, 1, holder) });
    cell.move('web-0-1', 'Serving', 'endpoints-controller');
    expect(cell.messages.join()).toContain('under lease endpoints-controller, which was released');
  });

  it('a gate that is opened under a closed epoch is noticed', () => {
    const cell = bound();
    put(cell, nodeAccountKey('n1'), { gate: { state: 'Closed', since: '' } });
    put(cell, nodeEpochKey('n1'), { state: 'Closed' });
    put(cell, nodeAccountKey('n1'), { gate: { state: 'Open', since: '' } });
    expect(cell.messages.join()).toContain("the gate in /a/node/n1 was opened; the node's epoch is closed");
  });

  it('a lease that changes hands under one epoch is noticed', () => {
    const cell = bound();
    put(cell, leaseKey('drain'), { holder: 'thief' });
    expect(cell.messages).toEqual(['/l/drain went from drain-1 to thief under one epoch, 1.1']);
  });

  it('a lease that is deleted and made again under its old epoch is noticed', () => {
    const cell = bound();
    const lease = cell.get(leaseKey('drain')) as object;
    put(cell, leaseKey('drain'), undefined);
    put(cell, leaseKey('drain'), lease);
    expect(cell.messages).toEqual(['/l/drain was made again under its old epoch 1.1']);
  });

  it('an epoch that is closed and open again is noticed', () => {
    const cell = bound();
    put(cell, nodeEpochKey('n1'), { state: 'Closed' });
    put(cell, nodeEpochKey('n1'), { state: 'Open' });
    expect(cell.messages).toEqual(['/e/n1: epoch 1.1 was closed and is open again']);
  });
});
