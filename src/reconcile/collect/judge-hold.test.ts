import { describe, expect, it } from 'vitest';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { NodeLedger } from '../../model/kinds/node-ledger.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import { objectOf } from '../../model/fake-objects.fixture.js';
import { type HoldInput, type HoldVerdict, judgeHold } from './judge-hold.js';

const hold = (state: string, spec: object = {}, metadata: object = {}, status: object = {}): Reservation =>
  objectOf('Reservation', 't', 'hold-1', {
    metadata,
    spec: {
      ...{ owner: { kind: 'Replica', name: 'web-0-1', uid: 'uid-web-0-1' }, intent: 'Bind', node: 'n' },
      ...{ amounts: {}, deadlineSeconds: 30, ...spec },
    },
    status: { state, ...status },
  }) as Reservation;
const owner = (stage: string, status: object = {}, metadata: object = {}): Replica =>
  objectOf('Replica', 't', 'web-0-1', { metadata, status: { stage, hold: 'hold-1', ...status } }) as Replica;
const gang = (state: string): Gang => objectOf('Gang', 't', 'web', { status: { state } }) as Gang;
const scheduled = owner('Scheduled');
const nodeOf = (spec: object, status: object = {}): Node =>
  objectOf('Node', undefined, 'n', { spec, status }) as Node;
const draining = nodeOf({ drain: {} });
const lost = nodeOf({}, { reachability: 'Lost', gate: { state: 'Closed' } });
const suspect = nodeOf({}, { reachability: 'Suspect', gate: { state: 'Closed' } });
const ofGang = hold('Held', { intent: 'Gang' });
const charged = (charge: object, more: object = {}): Reservation =>
  hold('Held', { intent: 'Gang' }, {}, { charge: { node: 'n', ...charge }, ...more });
const ledger = (used: string): NodeLedger =>
  objectOf('NodeLedger', undefined, 'n', {
    status: { allocatable: { cpu: '4' }, used: { cpu: used } },
  }) as NodeLedger;
const committed = { gang: gang('Committed') };
const victim = (stage: string): Replica =>
  objectOf('Replica', 't', 'guest', { status: { stage } }) as Replica;
const released = (reason: string): HoldVerdict => ({ kind: 'Release', as: 'Released', reason });
const expired: HoldVerdict = { kind: 'Release', as: 'Expired', reason: 'DeadlinePassed' };

describe('a hold', () => {
  it.each<[string, Partial<HoldInput>, HoldVerdict]>([
    ['is kept until its deadline', { inStateMs: 10_000 }, { kind: 'Keep', ms: 20_000 }],
    ['expires at its deadline', { inStateMs: 30_000 }, expired],
    ['goes when its node drains', { node: draining }, released('NodeDrains')],
    ['goes when its node is lost', { node: lost }, released('NodeLost')],
    [
      'goes when its node is being deleted',
      { node: objectOf('Node', undefined, 'n', { metadata: { deletionTimestamp: 'now' } }) as Node },
      released('NodeDeleted'),
    ],
    ['goes with its node', { node: undefined }, released('NodeGone')],
    ['is kept while its node is only late', { node: suspect }, { kind: 'Keep', ms: 30_000 }],
    ...(
      [
        ['drains', draining, 'NodeDrains'],
        ['is lost', lost, 'NodeLost'],
        ['is gone', undefined, 'NodeGone'],
      ] as const
    ).map(([what, node, reason]): [string, Partial<HoldInput>, HoldVerdict] => [
      `of a committed gang goes when its node ${what}: its member goes forward elsewhere`,
      { node, reservation: ofGang, gang: gang('Committed') },
      released(reason),
    ]),
    [
      'of a committed gang whose node takes nothing for longer than its deadline goes',
      {
        node: nodeOf({ unschedulable: true }),
        reservation: ofGang,
        gang: gang('Committed'),
        inStateMs: 30_000,
      },
      released('NodeTakesNothing'),
    ],
    [
      'of a committed gang on a node that is late is kept until its deadline',
      { node: suspect, reservation: ofGang, gang: gang('Committed'), inStateMs: 10_000 },
      { kind: 'Keep', ms: 20_000 },
    ],
    [
      'of a committed gang goes when its node came back with less than is committed there',
      { ...committed, reservation: charged({ amounts: { cpu: '1' } }), ledger: ledger('5') },
      released('NodeOffersLess'),
    ],
    [
      'of a committed gang goes when its node came back without a device of it',
      {
        ...{ ...committed, ledger: ledger('1'), node: nodeOf({}, { devices: { gpu: ['GPU-2'] } }) },
        reservation: charged({ amounts: {}, devices: { gpu: ['GPU-1'] } }),
      },
      released('NodeOffersLess'),
    ],
    [
      'stays where its node offers what is committed',
      { ...committed, reservation: charged({ amounts: { cpu: '1' } }), ledger: ledger('4') },
      { kind: 'Keep', ms: 30_000 },
    ],
    [
      'stays where its node will offer enough once its victims have ended',
      {
        ...{ ...committed, ledger: ledger('5') },
        reservation: charged({ amounts: { cpu: '1' } }, { awaits: [{ replica: 'guest' }] }),
      },
      { kind: 'Keep', ms: 30_000 },
    ],
    [
      'is kept past its deadline while what makes room for it is on its way out',
      { victims: [victim('Releasing')], inStateMs: 90_000 },
      { kind: 'Keep' },
    ],
    [
      'expires if nobody knows what became of that',
      { victims: [victim('Unknown')], inStateMs: 30_000 },
      expired,
    ],
    ['goes with its owner', { owner: undefined }, released('OwnerGone')],
    [
      'goes when its owner is another',
      { owner: owner('Scheduled', {}, { uid: 'x' }) },
      released('OwnerGone'),
    ],
    ['goes when its owner has ended', { owner: owner('Released') }, released('OwnerEnded')],
    ['goes when its owner is queued again', { owner: owner('Queued') }, released('OwnerMovedOn')],
    ['goes when its owner is bound without it', { owner: owner('Bound') }, released('OwnerMovedOn')],
    [
      'goes when its owner has another',
      { owner: owner('Scheduled', { hold: 'hold-2' }) },
      released('OwnerMovedOn'),
    ],
    [
      'goes when it is deleted',
      { reservation: hold('Held', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      released('Deleted'),
    ],
    [
      'of a gang that gathers expires like any other',
      { reservation: ofGang, gang: gang('Reserving'), inStateMs: 30_000 },
      expired,
    ],
    [
      'of a committed gang does not expire',
      { reservation: ofGang, gang: gang('Committed'), inStateMs: 3_000_000 },
      { kind: 'Keep' },
    ],
    ...(
      [
        ['expires if nobody knows what became of whom it awaits', 'Unknown', expired],
        ['is kept while whom it awaits is on its way out', 'Releasing', { kind: 'Keep' }],
      ] as const
    ).map(([what, stage, verdict]): [string, Partial<HoldInput>, HoldVerdict] => [
      `of a committed gang ${what}`,
      {
        reservation: {
          ...ofGang,
          status: { state: 'Held', awaits: [{ replica: 'guest', uid: 'u', amounts: {} }] },
        },
        ...{ gang: gang('Committed'), victims: [victim(stage)], inStateMs: 30_000 },
      },
      verdict,
    ]),
    [
      'for another kind of owner knows only its deadline',
      {
        reservation: hold('Held', { owner: { kind: 'RecoveryPlan', name: 'p', uid: 'u' } }),
        owner: undefined,
      },
      { kind: 'Keep', ms: 30_000 },
    ],
    ...['Bound', 'Released', 'Expired'].flatMap((state): [string, Partial<HoldInput>, HoldVerdict][] => [
      [`that is ${state} stays a while`, { reservation: hold(state) }, { kind: 'Keep', ms: 60_000 }],
      [
        `that is ${state} is deleted after a while`,
        { reservation: hold(state), inStateMs: 60_000 },
        { kind: 'Delete' },
      ],
    ]),
  ])('%s', (_name, changed, expected) => {
    const input: HoldInput = {
      ...{ reservation: hold('Held'), owner: scheduled, gang: undefined, node: nodeOf({}), inStateMs: 0 },
      ...{ victims: [], ledger: undefined },
      ...changed,
    };
    expect(judgeHold(input)).toEqual(expected);
  });
});
