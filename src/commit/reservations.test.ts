import { beforeEach, describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import type { Register } from '../model/ports.js';
import { answer, done, openTestCell, refOf, type TestCell } from './test-cell.fixture.js';

describe('[S7] a hold is bound, released or expired, once', () => {
  let cell: TestCell;
  let web: BerthObject;
  let replica: Replica;

  beforeEach(async () => {
    cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1', { devices: { gpu: ['GPU-1', 'GPU-2'] } });
    web = await cell.workload('shop', 'web', { cpu: '6', devices: { gpu: 1 }, ports: ['http'] });
    replica = await cell.incarnate(web);
  });

  it('is charged while it stands, and its charge and claims become those of the replica', async () => {
    const hold = done(await cell.reserve(replica, 'n1'));
    expect(await cell.status(replica)).toMatchObject({ stage: 'Scheduled', hold: hold.reservation });
    expect(await cell.status(replica)).not.toHaveProperty('charge');
    const second = await cell.incarnate(web, '1');
    expect(answer(await cell.bind(second, 'n1'))).toMatch(/^NodeFull/);
    done(await cell.bind(replica, 'n1'));
    expect(await cell.hold('shop', hold)).toMatchObject({ state: 'Bound' });
    expect(await cell.record('/a/node/n1')).toMatchObject({
      claims: { devices: { 'GPU-1': replica.metadata.uid }, ports: { 20000: replica.metadata.uid } },
    });
    expect(answer(await cell.releaseHold('shop', hold))).toBe(
      `HoldGone: hold shop/${hold.reservation} is Bound`,
    );
  });

  it.each<[string, Partial<Register>, string]>([
    ['a device of it', { devices: { gpu: ['GPU-2'] } }, 'device GPU-1 is not offered any more'],
    [
      'room for it',
      { allocatable: { cpu: '1', memory: '16Gi', devices: { gpu: 2 } } },
      'more cpu is committed than is offered',
    ],
  ])('[S2] does not become a binding on a node that came back without %s', async (_, offer, why) => {
    const hold = done(await cell.reserve(replica, 'n1'));
    await cell.node('n1', { devices: { gpu: ['GPU-1', 'GPU-2'] }, ...offer });
    expect(answer(await cell.bind(replica, 'n1'))).toBe(
      `HoldGone: hold ${hold.reservation} is on n1, where ${why}`,
    );
    done(await cell.releaseHold('shop', hold));
    expect((await cell.status(replica)).stage).toBe('Queued');
  });

  it('expires: the replica is queued again, and whoever comes late is told', async () => {
    const hold = done(await cell.reserve(replica, 'n1'));
    const expire = { actor: cell.actors.collector, as: 'Expired' } as const;
    done(await cell.releaseHold('shop', hold, expire));
    expect(await cell.releaseHold('shop', hold, expire)).toMatchObject({ kind: 'AlreadyCommitted' });
    const status = await cell.status(replica);
    expect(status).toMatchObject({ stage: 'Queued' });
    expect(status).not.toHaveProperty('hold');
    expect(status.transitions?.at(-1)).toMatchObject({
      from: 'Scheduled',
      to: 'Queued',
      reason: 'HoldExpired',
    });
    expect(answer(await cell.releaseHold('shop', hold))).toBe(
      `HoldGone: hold shop/${hold.reservation} is Expired`,
    );
    expect(answer(await cell.releaseHold('shop', { ...hold, uid: 'other' }))).toBe(
      `HoldGone: hold shop/${hold.reservation} is gone`,
    );
    expect(answer(await cell.releaseHold('shop', hold, { actor: cell.actors.user }))).toBe(
      'NotOwner: releaseHold is for scheduler or collector, not for user',
    );
  });

  it('is found again by owner and intent, and made anew after it was given up', async () => {
    const hold = done(await cell.reserve(replica, 'n1', { operation: 'first' }));
    // Its maker crashed before it knew: another operation for the same purpose finds it.
    expect(await cell.reserve(replica, 'n1', { operation: 'second' })).toMatchObject({
      kind: 'AlreadyCommitted',
      result: hold,
    });
    done(await cell.releaseHold('shop', hold));
    expect(await cell.reserve(replica, 'n1', { operation: 'first' })).toMatchObject({
      kind: 'AlreadyCommitted',
      result: hold,
    });
    expect((await cell.status(replica)).stage).toBe('Queued');
    const anew = done(await cell.reserve(replica, 'n1', { operation: 'third' }));
    expect(anew.reservation).toBe(hold.reservation);
    expect(anew.uid).not.toBe(hold.uid);
    expect(answer(await cell.releaseHold('shop', hold))).toMatch(/^HoldGone/);
  });

  it('is for its owner and its node: a bind elsewhere is refused with HoldGone', async () => {
    await cell.node('n2', { devices: { gpu: ['GPU-3'] } });
    const { reservation } = done(await cell.reserve(replica, 'n1'));
    expect(answer(await cell.bind(replica, 'n2'))).toBe(`HoldGone: hold ${reservation} is for web-0-1 on n1`);
    done(await cell.bind(replica, 'n1'));
  });

  it('goes with its replica when that is not wanted any more', async () => {
    const hold = done(await cell.reserve(replica, 'n1'));
    done(await cell.release(replica, { kind: 'NeverBound' }, 'workload-controller'));
    expect(await cell.hold('shop', hold)).toMatchObject({ state: 'Released' });
    expect(answer(await cell.bind(replica, 'n1'))).toBe('ReplicaChanged: replica shop/web-0-1 is Released');
  });

  it('does not bind where the rules have changed since: what held then is checked again', async () => {
    done(await cell.reserve(replica, 'n1'));
    await cell.set('Node', 'n1', { unschedulable: true });
    expect(answer(await cell.bind(replica, 'n1'))).toBe('Tainted: node n1 is unschedulable');
    await cell.set('Node', 'n1', { unschedulable: false });
    const stale = { ...cell.proposal(replica, 'n1'), nodeEpoch: { cell: 1, number: 1 } };
    await cell.node('n1', { devices: { gpu: ['GPU-1', 'GPU-2'] } });
    expect((await cell.authority.bind([stale])).map(answer)[0]).toMatch(/^NodeChanged/);
    done(await cell.bind(replica, 'n1'));
    expect((await cell.status(replica)).binding?.nodeEpoch).toEqual({ cell: 1, number: 2 });
  });

  it('[S12] a lost one that was replaced is outside the limit until it ends, also when both die', async () => {
    const any = await cell.workload('shop', 'any', { cpu: '1' }, { onNodeLost: { action: 'Replace' } });
    const first = await cell.incarnate(any);
    done(await cell.bind(first, 'n1'));
    done(await cell.lose(first));
    const second = await cell.incarnate(any, '0', 2);
    done(await cell.reserve(second, 'n1'));
    done(await cell.bind(second, 'n1'));
    done(await cell.lose(second));
    expect(answer(await cell.tryIncarnate(any, '0', 3))).toMatch(/one replacement at a time$/);
    done(await cell.report(first, 'Failed'));
    const third = await cell.incarnate(any, '0', 3);
    expect(await cell.record('/t/shop/any/0')).toMatchObject({ lost: { replica: 'any-0-2' } });
    done(await cell.release(third, { kind: 'NeverBound' }, 'workload-controller'));
    expect(answer(await cell.forget(third, true))).toBe(
      'SlotTaken: any-0-2 of slot 0 is lost and has not ended',
    );
    done(await cell.report(second, 'Ready'));
    expect(await cell.status(second)).toMatchObject({
      stage: 'Releasing',
      intent: { reason: 'Superseded', actor: 'agent:n1' },
    });
    done(await cell.report(second, 'Released'));
    done(await cell.forget(first, false));
    done(await cell.forget(second, false));
    done(await cell.forget(third, true));
    expect(refOf(third).name).toBe('any-0-3');
  });
});
