import { beforeEach, describe, expect, it } from 'vitest';
import type { BerthObject } from '../model/object.js';
import { audit } from './audit.fixture.js';
import { answer, done, openTestCell, type TestCell, refOf } from './test-cell.fixture.js';

describe('what the authority refuses about replicas, slots and actors', () => {
  let cell: TestCell;
  let web: BerthObject;

  beforeEach(async () => {
    cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1');
    web = await cell.workload('shop', 'web', { cpu: '1' }, { disruption: { maxUnavailable: 1 } });
  });

  it('ReplicaChanged: it is gone, another of that name, at another stage, or its slot is not its own', async () => {
    const first = await cell.incarnate(web);
    const other = { replica: { ...refOf(first), uid: 'other' } };
    expect(answer(await cell.bind(first, 'n1', other))).toBe(
      `ReplicaChanged: replica shop/web-0-1 is another now (${first.metadata.uid})`,
    );
    const gone = { replica: { ...refOf(first), name: 'web-7-1' } };
    expect(answer(await cell.bind(first, 'n1', gone))).toBe('ReplicaChanged: replica shop/web-7-1 is gone');
    expect(answer(await cell.reserve(first, 'n1', gone))).toBe(
      'ReplicaChanged: replica shop/web-7-1 is gone',
    );
    for (const outcome of [
      await cell.evict(first, 'user', gone),
      await cell.authority.move({
        ...gone,
        actor: cell.actors.user,
        from: 'Queued',
        to: 'Bound',
        reason: 'x',
        operation: 'x',
      }),
      await cell.report(first, 'Starting', gone),
      await cell.authority.release({
        ...gone,
        actor: cell.actors.user,
        proof: { kind: 'Attested' },
        reason: 'x',
        operation: 'x',
      }),
    ])
      expect(answer(outcome)).toBe('ReplicaChanged: replica shop/web-7-1 is gone');
    const held = await cell.incarnate(web, '1', 1, { stage: 'Admitted' });
    expect(answer(await cell.bind(held, 'n1'))).toBe('ReplicaChanged: replica shop/web-1-1 is Admitted');
    done(await cell.release(first, { kind: 'NeverBound' }, 'workload-controller'));
    expect(answer(await cell.bind(first, 'n1'))).toBe('ReplicaChanged: replica shop/web-0-1 is Released');
  });

  it('ReplicaChanged: incarnations of a workload or revision that is not there', async () => {
    const refused = async (more: object) => answer(await cell.tryIncarnate(web, '0', 1, more));
    expect(await refused({ workloadUid: 'old' })).toBe('ReplicaChanged: workload shop/web is gone');
    expect(await refused({ revision: 'web-r9' })).toBe(
      'ReplicaChanged: there is no revision web-r9 of workload web',
    );
    await cell.workload('shop', 'other');
    expect(await refused({ revision: 'other-r1' })).toBe(
      'ReplicaChanged: there is no revision other-r1 of workload web',
    );
  });

  it('what can only be so if a record was forged is refused all the same', async () => {
    const forge = async (key: string, change: object) => {
      const value = Buffer.from(JSON.stringify({ ...(await cell.record<object>(key)), ...change }));
      await cell.store.transact({ guards: [], writes: [{ kind: 'put', key, value }] });
    };
    const first = await cell.incarnate(web);
    const { reservation } = done(await cell.reserve(first, 'n1'));
    const key = `/s/Reservation/shop/${reservation}`;
    const { status } = await cell.record<{ status: object }>(key);
    await forge(key, { status: { ...status, state: 'Expired' } });
    const [late] = await cell.unaudited.bind([cell.proposal(first, 'n1')]);
    expect(answer(late)).toBe(`HoldGone: hold ${reservation} is Expired`);
    const second = await cell.unaudited.incarnate({
      actor: cell.actors['workload-controller'],
      tenant: 'shop',
      workload: 'web',
      workloadUid: web.metadata.uid,
      slot: '1',
      incarnation: 1,
      revision: 'web-r1',
      stage: 'Queued',
      reason: 'Wanted',
      operation: 'second',
    });
    await forge('/t/shop/web/1', { replica: 'web-1-2', replicaUid: 'other' });
    const [stray] = await cell.unaudited.bind([cell.proposal(done(second).replica, 'n1')]);
    expect(answer(stray)).toBe('ReplicaChanged: slot 1 of web belongs to web-1-2 now');
  });

  it('NoSuchEdge: a move says from where, and is not made from elsewhere', async () => {
    const replica = await cell.incarnate(web);
    done(await cell.bind(replica, 'n1'));
    expect(answer(await cell.move(replica, 'repair-controller', 'Unknown', { from: 'Ready' }))).toBe(
      'NoSuchEdge: web-0-1 is Bound, not Ready',
    );
  });

  it('SlotTaken: the incarnation is not the next, or the one before has not ended', async () => {
    expect(answer(await cell.tryIncarnate(web, '0', 2))).toBe(
      'SlotTaken: slot 0 of web is at incarnation 0, so 2 cannot be next',
    );
    const first = await cell.incarnate(web);
    expect(answer(await cell.tryIncarnate(web, '0', 2))).toBe('SlotTaken: slot 0 of web: web-0-1 is Queued');
    done(await cell.release(first, { kind: 'NeverBound' }, 'workload-controller'));
    const second = await cell.incarnate(web, '0', 2);
    expect(answer(await cell.tryIncarnate(web, '0', 2, { operation: 'again' }))).toBe(
      'SlotTaken: slot 0 of web is at incarnation 2, so 2 cannot be next',
    );
    expect(await cell.tryIncarnate(web, '0', 2)).toMatchObject({
      kind: 'AlreadyCommitted',
      result: { replica: { metadata: { uid: second.metadata.uid } } },
    });
  });

  it('AlreadyBound: there is never a second binding, and the same operation has the first result', async () => {
    const replica = await cell.incarnate(web);
    await cell.node('n2');
    const proposal = cell.proposal(replica, 'n1');
    const [first] = await cell.authority.bind([proposal]);
    expect(await cell.authority.bind([proposal])).toMatchObject([
      { kind: 'AlreadyCommitted', result: done(first) },
    ]);
    expect(answer(await cell.bind(replica, 'n2'))).toBe('AlreadyBound: replica shop/web-0-1 was bound to n1');
  });

  it("DisruptionLimit: a Daemon's replica leaves with its node, and a rollout of it is limited", async () => {
    const daemon = await cell.workload('shop', 'everywhere', {}, { type: 'Daemon', replicas: undefined });
    await cell.node('n2');
    const [a, b, c] = await Promise.all(
      ['n1', 'n2', 'n3'].map(async (node) => {
        await cell.node(node);
        const replica = await cell.incarnate(daemon, node);
        done(await cell.bind(replica, node));
        return replica;
      }),
    );
    if (a === undefined || b === undefined || c === undefined) throw new Error('three nodes');
    done(await cell.evict(a, 'drain'));
    done(await cell.evict(b, 'drain'));
    done(await cell.evict(c, 'rollout'));
  });

  it('DisruptionLimit: one limit for all voluntary causes, until a next one serves or is done', async () => {
    const replicas = [];
    for (const slot of ['0', '1']) {
      const replica = await cell.incarnate(web, slot);
      done(await cell.bind(replica, 'n1'));
      replicas.push(replica);
    }
    const [a, b] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
    done(await cell.evict(a, 'drain'));
    for (const kind of ['drain', 'rollout', 'preemption'] as const)
      expect(answer(await cell.evict(b, kind))).toBe(
        'DisruptionLimit: 1 replicas of web are disrupted; at most 1 at once',
      );
    done(await cell.report(a, 'Released'));
    const next = await cell.incarnate(web, '0', 2);
    done(await cell.bind(next, 'n1'));
    expect(answer(await cell.evict(b, 'drain'))).toMatch(/^DisruptionLimit/);
    for (const stage of ['Starting', 'Ready'] as const) done(await cell.report(next, stage));
    expect(answer(await cell.evict(b, 'drain')), 'nobody is sent to it yet').toMatch(/^DisruptionLimit/);
    done(await cell.move(next, 'endpoints-controller', 'Serving'));
    done(await cell.evict(b, 'drain'));
    expect(answer(await cell.evict(next, 'drain'))).toMatch(/^DisruptionLimit/);
    done(await cell.report(b, 'Released'));
    const last = await cell.incarnate(web, '1', 2);
    done(await cell.bind(last, 'n1'));
    done(await cell.report(last, 'Succeeded'));
    done(await cell.evict(next, 'drain'));
    done(await cell.report(next, 'Released'));
    for (const [replica, dropSlot] of [
      [a, false],
      [b, false],
      [next, true],
      [last, true],
    ] as const)
      done(await cell.forget(replica, dropSlot));
    expect(await cell.record('/a/workload/shop/web')).toBeUndefined();
  });

  it('a batch replica that fails after a disruption holds up nobody: it may never run again', async () => {
    const batch = { type: 'Batch', replicas: 2, batch: { completions: 2, backoffLimit: 0 } };
    const job = await cell.workload('shop', 'job', { cpu: '1' }, batch);
    const [a, b] = [await cell.incarnate(job, '0'), await cell.incarnate(job, '1')];
    for (const one of [a, b]) done(await cell.bind(one, 'n1'));
    done(await cell.evict(a, 'drain'));
    done(await cell.report(a, 'Released'));
    const next = await cell.incarnate(job, '0', 2);
    done(await cell.bind(next, 'n1'));
    expect(answer(await cell.evict(b, 'drain'))).toMatch(/^DisruptionLimit/);
    done(await cell.report(next, 'Failed', { exitCode: 1 }));
    done(await cell.evict(b, 'drain'));
  });

  it('a person and a repair are not bound by the limit of voluntary causes', async () => {
    for (const [slot, kind] of Object.entries([
      'user',
      'repair-controller',
      'workload-controller',
    ] as const)) {
      const replica = await cell.incarnate(web, slot);
      done(await cell.bind(replica, 'n1'));
      done(await cell.evict(replica, kind));
    }
  });

  it('[S8] StaleEpoch and NotOwner: under an epoch that is over, under another lease, under none', async () => {
    const replica = await cell.incarnate(web);
    const { scheduler } = cell.actors;
    const under = (name: string, number: number) => ({
      actor: { ...scheduler, lease: { name, epoch: { cell: 1, number } } },
    });
    expect(answer(await cell.bind(replica, 'n1', under('scheduler', 7)))).toBe(
      'StaleEpoch: test acts under epoch 1.7 of lease scheduler, which is at 1.1',
    );
    expect(answer(await cell.bind(replica, 'n1', under('scheduler-b', 1)))).toBe(
      'StaleEpoch: test acts under epoch 1.1 of lease scheduler-b, which is at none',
    );
    expect(answer(await cell.bind(replica, 'n1', under('drain', 1)))).toBe(
      'NotOwner: scheduler acts under the lease scheduler, not under drain',
    );
    expect(answer(await cell.bind(replica, 'n1', { actor: { kind: 'scheduler', name: 'x' } }))).toBe(
      'NotOwner: scheduler acts under the lease scheduler, not without one',
    );
    expect(answer(await cell.bind(replica, 'n1', { nodeEpoch: { cell: 1, number: 9 } }))).toBe(
      'NodeChanged: epoch 1.9 of node n1 does not exist; it is at 1.1',
    );
    expect(answer(await cell.bind(replica, 'n7'))).toBe('NodeChanged: there is no node n7');
    done(await cell.bind(replica, 'n1'));
    expect(answer(await cell.report(replica, 'Starting', { fence: '1' }))).toMatch(
      /^NotOwner: the fence of web-0-1 is \d+, not 1$/,
    );
    await cell.node('n2');
    expect(answer(await cell.report(replica, 'Starting', { node: 'n2' }))).toBe(
      'NotOwner: web-0-1 is bound to n1, not to n2',
    );
    await cell.node('n1');
    expect(answer(await cell.report(replica, 'Starting', { nodeEpoch: { cell: 1, number: 1 } }))).toBe(
      'StaleEpoch: epoch 1.1 of node n1 is over; it is at 1.2',
    );
  });

  it('[S6] NotOwner: what is for others to do', async () => {
    const { authority, actors } = cell;
    const replica = await cell.incarnate(web);
    const actor = actors.user;
    const node = { node: 'n1', nodeEpoch: { cell: 1, number: 1 } };
    const refused = [
      await cell.tryIncarnate(web, '3', 1, { actor }),
      await cell.bind(replica, 'n1', { actor }),
      await cell.reserve(replica, 'n1', { actor }),
      await authority.postpone({ actor, replica: refOf(replica), reason: 'NodeFull', message: 'x' }),
      await authority.gate({ actor, ...node, reachability: 'Fresh', reason: 'x', operation: 'x' }),
      await authority.attest({ actor, ...node, reason: 'x', forSeconds: 1, operation: 'x' }),
      await authority.grant({ actor, tenant: 'shop', operation: 'x' }),
    ];
    expect(refused.map(answer)).toEqual([
      'NotOwner: incarnate is for workload-controller, not for user',
      'NotOwner: bind is for scheduler, not for user',
      'NotOwner: reserve is for scheduler, not for user',
      'NotOwner: postpone is for scheduler, not for user',
      'NotOwner: gate is for detector, not for user',
      'NotOwner: attest is for operator or repair-controller, not for user',
      'NotOwner: grant is for grant-controller, not for user',
    ]);
    expect(answer(await cell.evict(replica, 'agent'))).toMatch(/^NotOwner: evict is for .*, not for agent$/);
    const lease = { name: 'drain', epoch: { cell: 1, number: 1 } };
    expect(answer(await cell.evict(replica, 'user', { actor: { ...actor, lease } }))).toBe(
      'NotOwner: user acts under no lease, not under drain',
    );
  });

  it('forgets what has ended, and the last of a slot only with its slot', async () => {
    const first = await cell.incarnate(web);
    expect(answer(await cell.forget(first, true))).toBe('NoSuchEdge: web-0-1 is Queued: it has not ended');
    done(await cell.release(first, { kind: 'NeverBound' }, 'workload-controller'));
    expect(answer(await cell.forget(first, false))).toBe(
      'SlotTaken: web-0-1 is the last of slot 0: the next one counts from it',
    );
    const second = await cell.incarnate(web, '0', 2);
    done(await cell.forget(first, false));
    expect(await cell.forget(first, false)).toMatchObject({ kind: 'AlreadyCommitted' });
    done(await cell.release(second, { kind: 'NeverBound' }, 'workload-controller'));
    done(await cell.forget(second, true));
    // Forgotten and made again in one transaction it is another replica, with a fence of its own.
    const again = await cell.incarnate(web);
    done(await cell.release(again, { kind: 'NeverBound' }, 'workload-controller'));
    const [, remade] = await Promise.all([
      cell.authority.forget({
        actor: cell.actors.collector,
        replica: refOf(again),
        dropSlot: true,
        operation: 'f',
      }),
      cell.tryIncarnate(web, '0', 1, { operation: 'remake' }),
    ]);
    const last = done(remade).replica;
    const { fence } = done(await cell.bind(last, 'n1'));
    expect(fence).toBe(last.metadata.resourceVersion);
    expect(Number(fence)).toBeGreaterThan(Number(again.metadata.resourceVersion));
    expect(await audit(cell.store)).toEqual([]);
  });

  it('the same operation has its first result, also when more has happened since', async () => {
    const replica = await cell.incarnate(web);
    done(await cell.bind(replica, 'n1'));
    done(await cell.report(replica, 'Starting', { operation: 'r1' }));
    done(await cell.report(replica, 'Ready', { operation: 'r2' }));
    expect(await cell.report(replica, 'Starting', { operation: 'r1' })).toMatchObject({
      kind: 'AlreadyCommitted',
      result: { stage: 'Starting' },
    });
    expect((await cell.status(replica)).stage).toBe('Ready');
  });
});
