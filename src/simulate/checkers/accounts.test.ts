import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import {
  type NodeAccount,
  nodeAccountKey,
  type SlotRecord,
  slotKey,
  type TenantAccount,
  tenantAccountKey,
  type WorkloadAccount,
  workloadAccountKey,
} from '../../model/records.js';
import { Accounts } from './accounts.js';
import { HonestCell, holdKey, replicaKey } from './honest-cell.fixture.js';

function queued(): HonestCell {
  const cell = new HonestCell([new Accounts()]).settled();
  cell.incarnate('web');
  return cell;
}
const node = nodeAccountKey('n1');
const tenant = tenantAccountKey('shop');
const workload = workloadAccountKey('shop', 'web');
type Stored = { status: ReplicaStatus };

describe('[S7] accounts equal the sum of charges', () => {
  it('through holds, binds, losses and ends', () => {
    const cell = new HonestCell([new Accounts()]).ordinaryDay();
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it.each([
    ['a node’s use', node, (old: NodeAccount) => ({ ...old, used: {} }), '/a/node/n1 used says nothing'],
    [
      'a node’s revisions',
      node,
      (old: NodeAccount) => ({ ...old, revisions: {} }),
      'shop/web-1 0; the records come to 1',
    ],
    [
      'a tenant’s use',
      tenant,
      (old: TenantAccount) => ({ ...old, used: { cpuMilli: 1 } }),
      '/a/tenant/shop used',
    ],
    [
      'what is borrowed',
      tenant,
      (old: TenantAccount) => ({ ...old, borrowed: {} }),
      '/a/tenant/shop borrowed',
    ],
    [
      'what is lost',
      tenant,
      (old: TenantAccount) => ({ ...old, lost: { replicas: 1 } }),
      '/a/tenant/shop lost',
    ],
    [
      'regions',
      workload,
      (old: WorkloadAccount) => ({ ...old, regions: {} }),
      '/a/workload/shop/web regions',
    ],
    [
      'zones',
      workload,
      (old: WorkloadAccount) => ({ ...old, zones: { 'eu/b': 1 } }),
      '/a/workload/shop/web zones',
    ],
    ['disruptions', workload, (old: WorkloadAccount) => ({ ...old, disrupted: 1 }), 'disrupted 1'],
  ])('%s that differ are noticed', (_, key, change, what) => {
    const cell = queued();
    cell.altering((draft) => draft.change(key, change as (value: unknown) => unknown));
    cell.bind('web-0-1', 'n1', { rank: 'Borrowed' });
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole()).toEqual(cell.violations);
  });

  it('a charge that is not freed at the end is noticed, and one that is freed twice', () => {
    const cell = queued();
    cell.bind('web-0-1', 'n1');
    const before = cell.get(node);
    cell.altering((draft) => draft.put(node, before)).move('web-0-1', 'Failed', 'agent:n1');
    expect(cell.messages.join()).toContain('/a/node/n1 used says cpu 1000, replicas 1; the charges come to');
  });

  it('slots that are disrupted are counted', () => {
    const cell = queued();
    const disrupt = (value: number): HonestCell =>
      cell.altering((draft) => {
        draft.change<SlotRecord>(slotKey('shop', 'web', '0'), (slot) => ({ ...slot, isDisrupted: true }));
        draft.change<WorkloadAccount>(workload, (account) => ({ ...account, disrupted: value }));
      });
    disrupt(1).transact('server-1', () => undefined);
    expect(cell.violations).toEqual([]);
    disrupt(0).transact('server-1', () => undefined);
    expect(cell.messages).toEqual(['/a/workload/shop/web says disrupted 0; the records come to 1']);
  });

  it.each([
    ['is missing', () => undefined, 'is bound to n1 and not charged'],
    ['is another tenant’s', (old: object) => ({ ...old, tenant: 'bank' }), 'another tenant than its own'],
    ['is for another revision', (old: object) => ({ ...old, revision: 'web-9' }), 'another revision'],
  ])('a charge that %s is noticed', (_, change, what) => {
    const cell = queued();
    cell.altering((draft) =>
      draft.change<Stored>(replicaKey('web-0-1'), ({ status }) => ({
        status: { ...status, charge: change(status.charge ?? {}) } as ReplicaStatus,
      })),
    );
    cell.bind('web-0-1', 'n1');
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole().map(({ message }) => message)).toEqual(expect.arrayContaining([...cell.messages]));
  });

  it('a charge that changes after it was set is noticed', () => {
    const cell = queued();
    cell.bind('web-0-1', 'n1');
    cell.altering((draft) =>
      draft.change<Stored>(replicaKey('web-0-1'), ({ status }) => ({
        status: { ...status, charge: { ...status.charge, rank: 'Borrowed' } } as ReplicaStatus,
      })),
    );
    cell.move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.messages).toContain('/s/Replica/shop/web-0-1: its charge changed after it was set');
  });
});

describe('[S7] a hold is bound, released or expired, once', () => {
  const state = (cell: HonestCell, value: string): HonestCell => {
    cell.transact('server-1', (draft) =>
      draft.change<{ status: object }>(holdKey('web-0-1'), ({ status }) => ({
        status: { ...status, state: value },
      })),
    );
    return cell;
  };

  it.each(['Released', 'Expired'] as const)('%s and held again is noticed', (as) => {
    const cell = queued();
    cell.hold('web-0-1', 'n1');
    cell.releaseHold('web-0-1', as);
    expect(cell.violations).toEqual([]);
    expect(state(cell, 'Held').messages).toContain(
      `/s/Reservation/shop/hold-web-0-1 was ${as}, for good, and is now Held`,
    );
  });

  it('one of the same name is another hold after the first is over, and not before', () => {
    const cell = queued();
    const again = (): HonestCell =>
      cell.altering((draft) =>
        draft.change<{ metadata: object }>('/o/Reservation/shop/hold-web-0-1', (hold) => ({
          ...hold,
          metadata: { ...hold.metadata, uid: 'uid-second' },
        })),
      );
    cell.hold('web-0-1', 'n1');
    cell.releaseHold('web-0-1');
    again().hold('web-0-1', 'n2');
    expect(cell.violations).toEqual([]);
    cell.altering((draft) =>
      draft.change<{ metadata: object }>('/o/Reservation/shop/hold-web-0-1', (hold) => ({
        ...hold,
        metadata: { ...hold.metadata, uid: 'uid-third' },
      })),
    );
    cell.transact('server-1', (draft) => draft.put(holdKey('web-0-1'), draft.get(holdKey('web-0-1'))));
    expect(cell.messages).toContain('/s/Reservation/shop/hold-web-0-1 was deleted while it was Held');
  });

  it.each([
    ['devices', { devices: { gpu: ['n1-g0'] } }, { devices: { gpu: ['n1-g1'] } }],
    ['ports', { ports: { http: 8080 } }, { ports: { http: 8081 } }],
  ])('a preempting hold is given its %s by its victims, and keeps them', (_, given, other) => {
    const cell = queued();
    const change = (what: object): void => {
      cell.transact('server-1', (draft) =>
        draft.change<{ status: { charge: object } }>(holdKey('web-1-1'), ({ status }) => ({
          status: { ...status, charge: { ...status.charge, ...what } },
        })),
      );
    };
    cell.bind('web-0-1', 'n1');
    cell.incarnate('web', '1');
    cell.hold('web-1-1', 'n1', {}, ['web-0-1']);
    change(given);
    expect(cell.violations).toEqual([]);
    cell.move('web-0-1', 'Failed', 'agent:n1');
    change(other);
    expect(cell.messages).toEqual(['/s/Reservation/shop/hold-web-1-1: its charge changed after it was set']);
  });

  it('one that begins otherwise, or is deleted while Held, is noticed', () => {
    const cell = queued();
    cell.altering((draft) =>
      draft.change<{ status: object }>(holdKey('web-0-1'), ({ status }) => ({
        status: { ...status, state: 'Bound' },
      })),
    );
    cell.hold('web-0-1', 'n1');
    expect(cell.messages).toContain('/s/Reservation/shop/hold-web-0-1 began as Bound, not Held');
    const other = queued();
    other.hold('web-0-1', 'n1');
    other.transact('server-1', (draft) => draft.put(holdKey('web-0-1'), undefined));
    expect(other.messages).toContain('/s/Reservation/shop/hold-web-0-1 was deleted while it was Held');
  });

  it('one that is made and becomes a binding in one transaction is none that began otherwise', () => {
    const cell = queued();
    cell.altering((draft) => {
      draft.change<{ status: object }>(holdKey('web-0-1'), ({ status }) => ({
        status: { ...status, state: 'Bound' },
      }));
      draft.change<{ status: { transitions: object[] } }>(replicaKey('web-0-1'), ({ status }) => {
        const [held = {}, ...before] = status.transitions.toReversed();
        const scheduled = { ...held, evidence: { hold: 'hold-web-0-1' } };
        const transitions = [...before.toReversed(), scheduled, { ...held, from: 'Scheduled', to: 'Bound' }];
        return { status: { ...status, stage: 'Bound', transitions } };
      });
    });
    cell.hold('web-0-1', 'n1');
    expect(cell.messages.join()).not.toContain('began as Bound');
  });

  it('a preempting hold posts only what it has now, and takes over what its victim frees', () => {
    const cell = queued();
    cell.bind('web-0-1', 'n1');
    cell.incarnate('web', '1');
    cell.hold('web-1-1', 'n1', {}, ['web-0-1']);
    cell.move('web-0-1', 'Failed', 'agent:n1');
    cell.bind('web-1-1', 'n1');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
  });

  it('parts of a preempting hold that are not its charge are noticed', () => {
    const cell = queued();
    cell.bind('web-0-1', 'n1');
    cell.incarnate('web', '1');
    cell.altering((draft) =>
      draft.change<{ status: object }>(holdKey('web-1-1'), ({ status }) => ({
        status: { ...status, now: { cpu: '1' } },
      })),
    );
    cell.hold('web-1-1', 'n1', {}, ['web-0-1']);
    expect(cell.messages.join()).toContain(
      'what it has now and what it awaits are not what it is charged with',
    );
  });

  it('a gang counts the holds of its members and is committed only with enough of them', () => {
    const cell = queued();
    const gang = (status: object) =>
      cell.transact('server-1', (draft) => draft.put('/s/Gang/shop/g', { status }));
    cell.object(
      'controller-1',
      'Gang',
      'shop',
      'g',
      { workload: 'web', minAvailable: 2 },
      { namespace: 'shop' },
    );
    cell.incarnate('web', '1', 1, { gang: 'g' });
    gang({ state: 'Reserving', holds: 0 });
    cell.altering((draft) => draft.put('/s/Gang/shop/g', { status: { state: 'Reserving', holds: 1 } }));
    cell.hold('web-1-1', 'n1');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    cell.releaseHold('web-1-1');
    expect(cell.messages).toEqual(['/s/Gang/shop/g counts 1 holds; its members have 0']);
    expect(cell.whole()).toHaveLength(1);
    gang({ state: 'Committed', holds: 2 });
    expect(cell.messages.at(-1)).toBe('/s/Gang/shop/g was committed with 0 places of 2');
  });

  it('a hold of a committed gang is given up only where its node would not take its member', () => {
    const givenUp = (close: (cell: HonestCell) => unknown): readonly string[] => {
      const cell = queued();
      const metadata = { namespace: 'shop' };
      cell.object('controller-1', 'Gang', 'shop', 'g', { workload: 'web', minAvailable: 1 }, metadata);
      const member = cell.incarnate('web', '1', 1, { gang: 'g' });
      cell.hold(member, 'n1');
      cell.transact('server-1', (draft) =>
        draft.put('/s/Gang/shop/g', { status: { state: 'Committed', holds: 1 } }),
      );
      close(cell);
      cell.releaseHold(member, 'Released');
      return cell.messages;
    };
    expect(givenUp(() => undefined)).toEqual([
      '/s/Reservation/shop/hold-web-1-1 was given up; gang g is committed, and n1 takes its member',
    ]);
    expect(givenUp((cell) => cell.judge('n1', 'Lost'))).toEqual([]);
    // It came back with less than it has promised.
    const offer = (cell: HonestCell, allocatable: object): unknown =>
      cell.transact('server-1', (draft) =>
        draft.put('/a/node/n1', { ...(draft.get('/a/node/n1') as object), allocatable }),
      );
    expect(givenUp((cell) => offer(cell, { cpuMilli: 1 }))).toEqual([]);
    expect(givenUp((cell) => offer(cell, { cpuMilli: 9_000, memoryBytes: 2 ** 33 }))).toHaveLength(1);
  });
});
