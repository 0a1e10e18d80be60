import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import { objectKey, statusKey } from '../../model/records.js';
import { HonestCell, holdKey, replicaKey } from './honest-cell.fixture.js';
import { ReservedCapacity } from './reserved-capacity.js';

function cellWith(...slots: readonly string[]): HonestCell {
  const cell = new HonestCell([new ReservedCapacity()]).settled();
  cell.workload('big', { resources: { cpu: '3' } });
  for (const slot of slots) cell.incarnate('big', slot);
  return cell;
}

describe('[S9] reserved capacity is used only by those it is reserved for', () => {
  it('and nothing is said when a hold is used by its owner, or given up', () => {
    const cell = cellWith('0', '1');
    cell.hold('big-0-1', 'n1');
    cell.bind('big-0-1', 'n1');
    cell.hold('big-1-1', 'n2');
    cell.releaseHold('big-1-1');
    cell.bind('big-1-1', 'n2');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it('a bind into what is held is noticed', () => {
    const cell = cellWith('0', '1');
    cell.hold('big-0-1', 'n1');
    cell.bind('big-1-1', 'n1');
    expect(cell.messages).toEqual([
      '/s/Replica/shop/big-1-1 was bound to n1 into cpu that is held by /s/Reservation/shop/hold-big-0-1',
    ]);
  });

  it.each([
    [
      'another’s hold',
      { owner: { kind: 'Replica', name: 'big-0-1', uid: 'uid-x' } },
      'which is held for uid-x',
    ],
    ['a hold on another node', { node: 'n2' }, 'which is held on n2'],
  ])('a bind through %s is noticed', (_, patch, what) => {
    const cell = cellWith('0');
    cell.hold('big-0-1', 'n1');
    cell.transact('server-1', (draft) =>
      draft.change<{ spec: object }>(objectKey('Reservation', 'shop', 'hold-big-0-1'), (hold) => ({
        ...hold,
        spec: { ...hold.spec, ...patch },
      })),
    );
    cell.bind('big-0-1', 'n1');
    expect(cell.messages.join()).toContain(what);
  });

  it.each([
    ['has expired', 'Expired', 'which was Expired'],
    ['was used before', 'Bound', 'which was Bound'],
  ])('a bind through a hold that %s is noticed', (_, state, what) => {
    const cell = cellWith('0');
    cell.hold('big-0-1', 'n1');
    cell.transact('server-1', (draft) =>
      draft.change<{ status: object }>(holdKey('big-0-1'), ({ status }) => ({
        status: { ...status, state },
      })),
    );
    cell.bind('big-0-1', 'n1');
    expect(cell.messages.join()).toContain(what);
  });

  it('a bind that leaves its hold Held is noticed, and a hold that is Bound without its owner', () => {
    const cell = cellWith('0', '1');
    cell.hold('big-0-1', 'n1');
    const held = cell.get(holdKey('big-0-1'));
    cell.altering((draft) => draft.put(holdKey('big-0-1'), held)).bind('big-0-1', 'n1');
    expect(cell.messages.join()).toContain('which is Held after it');
    cell.hold('big-1-1', 'n2');
    cell.transact('server-1', (draft) =>
      draft.change<{ status: object }>(holdKey('big-1-1'), ({ status }) => ({
        status: { ...status, state: 'Bound' },
      })),
    );
    expect(cell.messages.at(-1)).toContain('its owner big-1-1 is not bound to n2');
  });

  it('a node that is kept for recovery takes only work whose class may use it', () => {
    const cell = cellWith();
    cell.node('spare', { region: 'eu', zone: 'a' }, { 'berth.dev/recovery-pool': 'true' });
    cell.workload('urgent', { priorityClassName: 'high' });
    cell.incarnate('urgent');
    cell.bind('urgent-0-1', 'spare');
    expect(cell.violations).toEqual([]);
    cell.incarnate('web');
    cell.bind('web-0-1', 'spare');
    expect(cell.messages).toEqual([
      '/s/Replica/shop/web-0-1 of class default was bound to spare, which is kept for recovery',
    ]);
  });
});

describe('[S9] preemption', () => {
  function preempting(priorityClassName: string, rank: 'Guaranteed' | 'Borrowed' = 'Guaranteed'): HonestCell {
    const cell = cellWith('0');
    cell.workload('urgent', { priorityClassName, resources: { cpu: '3' } });
    cell.bind('big-0-1', 'n1');
    cell.incarnate('urgent');
    cell.hold('urgent-0-1', 'n1', { rank }, ['big-0-1']);
    return cell;
  }

  it('gives what a victim frees to the hold that awaits it', () => {
    const cell = preempting('high');
    cell.move('big-0-1', 'Failed', 'agent:n1');
    cell.bind('urgent-0-1', 'n1');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
  });

  it.each([
    ['the same rank', 'default', 'Guaranteed'],
    ['a borrower’s rank, whatever its priority', 'high', 'Borrowed'],
  ] as const)('by %s is noticed', (_, priorityClassName, rank) => {
    expect(preempting(priorityClassName, rank).messages).toEqual([
      '/s/Reservation/shop/hold-urgent-0-1 takes from shop/big-0-1, which it does not rank above',
    ]);
  });

  it('that leaves up for grabs what a victim freed is noticed', () => {
    const cell = preempting('high');
    const hold = cell.get(holdKey('urgent-0-1'));
    cell.altering((draft) => draft.put(statusKey('Reservation', 'shop', 'hold-urgent-0-1'), hold));
    cell.move('big-0-1', 'Failed', 'agent:n1');
    expect((cell.get(replicaKey('big-0-1')) as { status: ReplicaStatus }).status.stage).toBe('Failed');
    expect(cell.messages.join()).toContain('still awaits big-0-1 (uid-big-0-1), which has ended');
    expect(cell.whole()).toHaveLength(1);
  });
});
