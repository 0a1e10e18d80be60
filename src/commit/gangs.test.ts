import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { realEnv } from '../env/real.js';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import { type NodeEpoch, nodeEpochKey } from '../model/records.js';
import { EtcdStore } from '../store/etcd.js';
import { audit } from './audit.fixture.js';
import { answer, done, openTestCell, refOf, type TestCell } from './test-cell.fixture.js';

const moves = (cell: TestCell, gang: BerthObject) => {
  let number = 0;
  return (to: 'Waiting' | 'Reserving' | 'Committed' | 'Released', actor = cell.actors.scheduler) =>
    cell.authority.moveGang({
      actor,
      tenant: 'shop',
      gang: gang.metadata.name,
      uid: gang.metadata.uid,
      to,
      operation: `gang/${(number += 1)}`,
    });
};

const members = async (cell: TestCell, count: number) => {
  const web = await cell.workload('shop', 'web', { cpu: '1' }, { replicas: count });
  const replicas = await Promise.all(
    Array.from({ length: count }, (_, slot) => cell.incarnate(web, String(slot), 1, { gang: 'all' })),
  );
  return { web, replicas };
};

const gangHold = { intent: 'Gang' } as const;

describe('a gang starts together or not at all', () => {
  let cell: TestCell;
  let gang: BerthObject;
  let move: ReturnType<typeof moves>;
  let replicas: readonly Replica[];
  let web: BerthObject;
  const state = () => cell.record('/s/Gang/shop/all');
  const at = (index: number): Replica => replicas[index] as Replica;

  beforeEach(async () => {
    cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1');
    gang = await cell.create('Gang', 'shop', 'all', { workload: 'web', minAvailable: 2, members: 3 });
    move = moves(cell, gang);
    ({ web, replicas } = await members(cell, 3));
  });

  it('[L7] a hold that still awaits a victim expires although its gang is committed, and its member goes elsewhere', async () => {
    const low = await cell.workload('shop', 'low', { cpu: '7' }, { onNodeLost: { action: 'Wait' } });
    const victim = await cell.incarnate(low);
    done(await cell.bind(victim, 'n1'));
    done(await cell.report(victim, 'Starting'));
    const high = await cell.workload('shop', 'high', { cpu: '1' }, { priorityClassName: 'high' });
    const waits = await cell.incarnate(high, '0', 1, { gang: 'all' });
    await cell.node('n2');
    done(await move('Reserving'));
    done(await cell.reserve(at(0), 'n1', gangHold));
    const ready = done(await cell.reserve(at(1), 'n2', gangHold));
    const hold = done(await cell.reserve(waits, 'n1', { ...gangHold, victims: [refOf(victim)] }));
    done(await move('Committed'));
    done(await cell.lose(victim));
    const collector = { actor: cell.actors.collector, as: 'Expired' } as const;
    expect(answer(await cell.releaseHold('shop', ready, collector))).toMatch(/^GangCommitted/);
    expect(answer(await cell.releaseHold('shop', hold))).toMatch(/^GangCommitted/);
    done(await cell.releaseHold('shop', hold, collector));
    expect((await cell.status(waits)).stage).toBe('Queued');
    done(await cell.bind(waits, 'n2'));
  });

  it('holds, commits when enough hold, binds through the holds, and the rest follows', async () => {
    expect(answer(await cell.bind(at(0), 'n1'))).toBe(
      'GangIncomplete: web-0-1 is a member of gang all, which has not started: it is bound through a hold',
    );
    expect(answer(await cell.reserve(at(0), 'n1', gangHold))).toBe(
      'GangIncomplete: gang all is not begun, not Reserving',
    );
    done(await move('Reserving'));
    expect(await move('Reserving')).toMatchObject({ kind: 'AlreadyCommitted' });
    expect(answer(await cell.reserve(at(0), 'n1'))).toBe(
      'GangIncomplete: a member of gang all holds for it, with intent Gang',
    );
    const hold = done(await cell.reserve(at(0), 'n1', gangHold));
    expect(answer(await move('Committed'))).toBe('GangIncomplete: 1 of 2 members of gang all hold capacity');
    expect(answer(await cell.bind(at(0), 'n1'))).toBe(
      'GangIncomplete: gang all is Reserving, not yet Committed',
    );
    done(await cell.reserve(at(1), 'n1', gangHold));
    done(await move('Committed'));
    expect(await state()).toMatchObject({ status: { state: 'Committed', holds: 2, attempts: 1 } });
    for (const as of ['Expired', 'Released'] as const)
      expect(answer(await cell.releaseHold('shop', hold, { as }))).toBe(
        'GangCommitted: gang all is committed: its members go forward',
      );
    for (const index of [0, 1, 2]) done(await cell.bind(at(index), 'n1'));
    // One that has ended is followed by its next incarnation, without the others starting again.
    done(await cell.report(at(0), 'Failed'));
    done(await cell.bind(await cell.incarnate(web, '0', 2, { gang: 'all' }), 'n1'));
  });

  it('cannot complete: it gives up, its holds go, and it may try again', async () => {
    done(await move('Reserving'));
    const holds = [
      done(await cell.reserve(at(0), 'n1', gangHold)),
      done(await cell.reserve(at(1), 'n1', gangHold)),
    ];
    done(await cell.releaseHold('shop', holds[1] as (typeof holds)[0], { as: 'Expired' }));
    expect(answer(await move('Committed'))).toMatch(/^GangIncomplete: 1 of 2/);
    done(await move('Released', cell.actors.collector));
    expect(answer(await cell.reserve(at(1), 'n1', { ...gangHold, operation: 'late' }))).toBe(
      'GangIncomplete: gang all is Released, not Reserving',
    );
    expect(answer(await move('Waiting'))).toBe('GangIncomplete: 1 members of gang all still hold capacity');
    expect(answer(await move('Committed'))).toBe(
      'NoSuchEdge: gang all is Released; it cannot become Committed',
    );
    done(await cell.releaseHold('shop', holds[0] as (typeof holds)[0]));
    done(await move('Waiting'));
    expect(await Promise.all(replicas.map(async (one) => (await cell.status(one)).stage))).toEqual([
      'Queued',
      'Queued',
      'Queued',
    ]);
    done(await move('Reserving'));
    expect(await state()).toMatchObject({ status: { attempts: 2, holds: 0 } });
    for (const index of [0, 1, 2]) done(await cell.reserve(at(index), 'n1', gangHold));
    done(await move('Committed'));
  });

  it("[L10] [S7] once it has started, a member may hold like any replica, and that is none of the gang's holds", async () => {
    done(await move('Reserving'));
    for (const index of [0, 1]) done(await cell.reserve(at(index), 'n1', gangHold));
    const own = { intent: 'Preemption' } as const;
    expect(answer(await cell.reserve(at(2), 'n1', own))).toBe(
      'GangIncomplete: a member of gang all holds for it, with intent Gang',
    );
    done(await move('Committed'));
    for (const as of ['Expired', 'Released'] as const) {
      const hold = done(await cell.reserve(at(2), 'n1', own));
      done(await cell.releaseHold('shop', hold, { as }));
      expect((await cell.status(at(2))).stage).toBe('Queued');
    }
    done(await cell.reserve(at(2), 'n1', own));
    expect(await state()).toMatchObject({ status: { state: 'Committed', holds: 2 } });
    done(await cell.bind(at(2), 'n1'));
  });

  it('a member that is not wanted any more goes, also from a committed gang', async () => {
    done(await move('Reserving'));
    for (const index of [0, 1, 2]) done(await cell.reserve(at(index), 'n1', gangHold));
    done(await move('Committed'));
    done(await cell.release(at(2), { kind: 'NeverBound' }, 'workload-controller'));
    expect((await cell.status(at(2))).stage).toBe('Released');
  });

  it.each<[string, () => Promise<unknown>]>([
    ['drains', () => cell.set('Node', 'n2', { drain: { reason: 'maintenance' } })],
    [
      'comes back with less than is held',
      () => cell.node('n2', { capacity: { cpu: '100m' }, allocatable: { cpu: '100m' } }),
    ],
    [
      'is lost',
      async () => {
        const { epoch } = await cell.record<NodeEpoch>(nodeEpochKey('n2'));
        done(
          await cell.authority.gate({
            ...{ actor: cell.actors.detector, node: 'n2', nodeEpoch: epoch, reachability: 'Lost' },
            ...{ reason: 'LeaseExpired', operation: 'gate/1' },
          }),
        );
      },
    ],
  ])(
    '[L7] [S7] a member that holds on a node that %s is queued again, once, and bound elsewhere',
    async (_, close) => {
      await cell.node('n2');
      done(await move('Reserving'));
      done(await cell.reserve(at(0), 'n1', gangHold));
      const hold = done(await cell.reserve(at(1), 'n2', gangHold));
      done(await move('Committed'));
      const release = (operation: string) => cell.releaseHold('shop', hold, { as: 'Released', operation });
      expect(answer(await release('early'))).toBe(
        'GangCommitted: gang all is committed: its members go forward',
      );
      await close();
      done(await release('late'));
      expect(await release('again')).toMatchObject({ kind: 'AlreadyCommitted' });
      expect((await cell.status(at(1))).stage).toBe('Queued');
      expect(answer(await cell.reserve(at(1), 'n1', gangHold))).toBe(
        'GangIncomplete: gang all is Committed, not Reserving',
      );
      for (const index of [0, 1]) done(await cell.bind(at(index), 'n1'));
    },
  );

  it('NotOwner and ReplicaChanged: not for others to move, nor another gang of that name', async () => {
    expect(answer(await move('Reserving', cell.actors.user))).toBe(
      'NotOwner: moveGang is for scheduler or collector, not for user',
    );
    expect(answer(await move('Committed', cell.actors.collector))).toBe(
      'NotOwner: a collector only gives gangs up',
    );
    const other = moves(cell, { ...gang, metadata: { ...gang.metadata, uid: 'other' } });
    expect(answer(await other('Reserving'))).toBe('ReplicaChanged: gang shop/all is gone');
    const lone = await cell.incarnate(web, '9');
    expect(answer(await cell.reserve(lone, 'n1', gangHold))).toBe('GangIncomplete: web-9-1 is in no gang');
  });
});

describe('a gang of 1,000 on a real etcd', () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  it('holds, commits and binds within the limits of etcd', async () => {
    const store = new EtcdStore({ endpoints: etcd.urls, env: realEnv() });
    const sizes: number[] = [];
    const cell = await openTestCell({
      store,
      isAudited: false,
      authority: { mayChain: false, onTransaction: (count) => sizes.push(count) },
    });
    try {
      await cell.tenant('shop');
      const count = 1_000;
      const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`);
      await Promise.all(
        nodes.map((node) => cell.node(node, { allocatable: { cpu: String((2 * count) / nodes.length) } })),
      );
      const gang = await cell.create('Gang', 'shop', 'all', { workload: 'web', minAvailable: count });
      const { replicas } = await members(cell, count);
      const move = moves(cell, gang);
      done(await move('Reserving'));
      const nodeOf = (index: number): string => nodes[index % nodes.length] as string;
      sizes.length = 0;
      const holds = await Promise.all(
        replicas.map((replica, index) => cell.reserve(replica, nodeOf(index), gangHold)),
      );
      expect(holds.map(({ kind }) => kind).filter((kind) => kind !== 'Committed')).toEqual([]);
      expect(Math.max(...sizes)).toBeGreaterThan(1);
      done(await move('Committed'));
      const bound = await cell.authority.bind(
        replicas.map((replica, index) => cell.proposal(replica, nodeOf(index))),
      );
      expect(bound.map(({ kind }) => kind).filter((kind) => kind !== 'Committed')).toEqual([]);
      expect(await audit(store)).toEqual([]);
      expect(await cell.record('/a/tenant/shop')).toMatchObject({
        used: { cpuMilli: 1_000_000, replicas: count },
      });
    } finally {
      await cell.cache.close();
      await store.close();
    }
  });
});
