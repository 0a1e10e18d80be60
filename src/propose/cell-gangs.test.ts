import { describe, expect, it } from 'vitest';
import { statusKey } from '../model/records.js';
import type { PendingReplica } from './contract.js';
import { guestStatus, openGangCell } from './gang-cell.fixture.js';

describe('places for a gang on a picture of the cell', () => {
  it('are not refused before the cell has been looked at for who would make room', () => {
    const { core, records, gang } = openGangCell(150, { areFull: true });
    const members = gang('train', 2);
    expect(core.planGang(members, 2)).toEqual({ kind: 'NotReady' });
    while (core.isLooking) core.look();
    const plan = core.planGang(members, 2);
    expect(plan).toMatchObject({ kind: 'Places', places: [{ victims: [{}] }, { victims: [{}] }] });
    for (const member of members) core.unassume(member);
    for (let at = 0; at < 150; at++)
      records.put({
        [statusKey('Replica', 'b', `guest-n${at}`)]: guestStatus(`n${at}`, { stage: 'Serving' }),
      });
    expect(core.planGang(members, 2)).toEqual({ kind: 'NotReady' });
    expect(members.map((member) => core.gangMember(member)?.isOnItsWay)).toEqual([false, false]);
  });

  it('[L6] are refused with the reason that the rules found', () => {
    const { core, records, gang } = openGangCell(4, { areFull: false });
    const grant = { most: { cpuMilli: 1_000 }, epoch: { cell: 1, number: 1 }, source: 'Whole' };
    records.put({ '/a/tenant/a': { grant, used: {}, borrowed: {}, lost: {} } });
    expect(core.planGang(gang('train', 2), 2)).toMatchObject({ kind: 'None', reason: 'QuotaExceeded' });
  });
});

describe('a member of a gang, in a turn of the queue', () => {
  it('[L10] makes room for itself like any replica once its gang has started, and not before', () => {
    const { core, records, gang } = openGangCell(1, { areFull: true });
    const [member] = gang('train', 1) as [PendingReplica];
    const turn = () =>
      core.propose(
        { classKey: member.classKey, replicas: [member] },
        { version: '1', ageMs: 0, mayGoOn: () => true },
      );
    expect(turn()).toMatchObject({ plans: [], waits: [{ reason: 'GangIncomplete' }] });
    records.put({ [statusKey('Gang', 'a', 'train')]: { status: { state: 'Committed' } } });
    expect(turn()).toMatchObject({ plans: [{ node: 'n0', victims: [{ name: 'guest-n0' }] }], waits: [] });
  });
});
