import { describe, expect, it } from 'vitest';
import { statusKey } from '../model/records.js';
import type { DecisionSpec } from '../model/kinds/decision.js';
import type { PendingReplica, TurnMoment } from './contract.js';
import { guestStatus, openGangCell } from './gang-cell.fixture.js';
import type { GangPlan } from './gangs.js';
import { replayDecision } from './replay-decision.js';

const moment: TurnMoment = { version: '7', ageMs: 3, mayGoOn: () => true };

describe('places for a gang on a picture of the cell', () => {
  it('are not refused before the cell has been looked at for who would make room', () => {
    const { core, records, gang } = openGangCell(150, { areFull: true });
    const members = gang('train', 2);
    const planning = core.planGang(members, 2);
    expect([planning.goOn(moment), core.isLooking]).toEqual([undefined, true]);
    while (core.isLooking) core.look();
    expect(planning.goOn(moment)).toMatchObject({
      ...{ kind: 'Places', parts: [{ places: [{ victims: [{}] }, { victims: [{}] }] }] },
    });
    for (const member of members) core.unassume(member);
    for (let at = 0; at < 150; at++)
      records.put({
        [statusKey('Replica', 'b', `guest-n${at}`)]: guestStatus(`n${at}`, { stage: 'Serving' }),
      });
    expect(core.planGang(members, 2).goOn(moment)).toBeUndefined();
    expect(members.map((member) => core.gangMember(member)?.isOnItsWay)).toEqual([false, false]);
  });

  it('[L1] are found for very many, although their own plans change more nodes than are looked at at once', () => {
    const { core, gang } = openGangCell(400, { areFull: true });
    const planning = core.planGang(gang('train', 300), 300);
    let plan = planning.goOn({ ...moment, mayGoOn: () => false });
    for (let stretch = 0; plan === undefined && stretch < 1_000; stretch++) {
      if (core.isLooking) core.look();
      plan = planning.goOn({ ...moment, mayGoOn: () => false });
    }
    expect(plan?.kind).toBe('Places');
  });

  it('[L6] are refused with the reason that the rules found', () => {
    const { core, records, gang } = openGangCell(4, { areFull: false });
    const grant = { most: { cpuMilli: 1_000 }, epoch: { cell: 1, number: 1 }, source: 'Whole' };
    records.put({ '/a/tenant/a': { grant, used: {}, borrowed: {}, lost: {} } });
    expect(core.planGang(gang('train', 2), 2).goOn(moment)).toMatchObject({
      ...{ kind: 'None', reason: 'QuotaExceeded' },
      draft: {
        ...{ result: 'NotPlaced', reason: 'QuotaExceeded', snapshot: { revision: '7', ageMs: 3, nodes: 4 } },
        gang: { name: 'train', wanted: 2, found: 1 },
      },
    });
  });

  it.each([
    { says: 'free room', areFull: false, least: 5, room: 'free' },
    { says: 'room that others make', areFull: true, least: 5, room: 'made' },
    { says: 'too little', areFull: false, least: 7, room: 'none' },
  ])('are found again when the decision is run again: $says', ({ areFull, least, room }) => {
    const { core, gang } = openGangCell(6, { areFull });
    const members = gang('train', least);
    while (core.isLooking) core.look();
    const plan = core.planGang(members, least).goOn(moment);
    const part = plan?.kind === 'Places' ? plan.parts[0] : undefined;
    const draft = plan?.kind === 'None' ? plan.draft : part?.draft;
    expect([plan?.kind, draft?.gang?.wanted]).toEqual([room === 'none' ? 'None' : 'Places', least]);
    const choices = part?.places.map((place) => ({
      ...{ replica: place.replica.name, uid: place.replica.uid, operation: 'x', node: place.node },
      ...('victims' in place && { leaving: { count: place.victims.length, replicas: [] } }),
    }));
    const written: unknown = JSON.parse(JSON.stringify({ ...draft, choices }));
    const again = replayDecision(written as DecisionSpec);
    expect(again.differences).toEqual([]);
    expect(again.choices.filter(({ node }) => node !== undefined).length).toBe(room === 'free' ? 5 : 0);
    expect(again.roomMade.length).toBe(room === 'made' ? 5 : 0);
  });

  it('[L1] in stretches are the same as at once, and no node is counted twice meanwhile', () => {
    const [whole, cut] = [openGangCell(40, { areFull: true }), openGangCell(40, { areFull: true })];
    const atOnce = whole.core.planGang(whole.gang('train', 20), 20).goOn(moment);
    const planning = cut.core.planGang(cut.gang('train', 20), 20);
    let stretches = 1;
    let plan = planning.goOn({ ...moment, mayGoOn: () => false });
    for (; plan === undefined; stretches++) plan = planning.goOn({ ...moment, mayGoOn: () => false });
    expect(stretches).toBeGreaterThan(10);
    const shown = (one: GangPlan | undefined) =>
      one?.kind === 'Places' ? one.parts.flatMap(({ places }) => places.map(({ node }) => node)) : [];
    expect(new Set(shown(plan)).size).toBe(20);
    expect(shown(atOnce).length).toBe(20);
  });

  it('[S7] that are given up leave nothing behind', () => {
    const { core, gang } = openGangCell(40, { areFull: true });
    const members = gang('train', 20);
    const planning = core.planGang(members, 20);
    for (let stretch = 0; stretch < 5; stretch++) planning.goOn({ ...moment, mayGoOn: () => false });
    expect(members.some((member) => core.gangMember(member)?.isOnItsWay === true)).toBe(true);
    planning.giveUp();
    expect(members.some((member) => core.gangMember(member)?.isOnItsWay === true)).toBe(false);
  });
});

describe('a member of a gang, in a turn of the queue', () => {
  it('[L10] makes room for itself like any replica', () => {
    const { core, gang } = openGangCell(1, { areFull: true });
    const [member] = gang('train', 1) as [PendingReplica];
    const result = core.propose({ classKey: member.classKey, replicas: [member] }, moment);
    expect(result).toMatchObject({ plans: [{ node: 'n0', victims: [{ name: 'guest-n0' }] }], waits: [] });
  });
});
