import { describe, expect, it } from 'vitest';
import type { PendingReplica, Placement } from './contract.js';
import {
  couldMeet,
  type GangMember,
  type GangMoment,
  type GangView,
  goesFirst,
  nextGangSteps,
} from './gangs.js';
import { pendingOf, plainDraft } from './plain-cell.fixture.js';

const gang: GangView = {
  tenant: 'shop',
  name: 'all',
  state: 'Waiting',
  holds: 0,
  attempts: 0,
  minAvailable: 2,
  priority: 0,
  rules: {},
  sinceMs: 1_000,
};
const replicas = pendingOf('shop/web', 3);
const placementOf = (replica: PendingReplica): Placement => ({
  replica,
  node: 'n1',
  nodeEpoch: { cell: 1, number: 1 },
});

type Hold = NonNullable<GangMember['hold']>['state'];

const stages = { Q: 'Queued', U: 'Queued', A: 'Admitted', B: 'Bound' } as const;

/** `Q` queued, `U` queued with a hold on its way, `A` admitted, `B` bound, or the state of its hold. */
const member = (what: keyof typeof stages | Hold, index: number): GangMember => {
  const replica = replicas[index] as PendingReplica;
  const isOnItsWay = what === 'U';
  if (what === 'Q' || what === 'U' || what === 'A' || what === 'B')
    return { replica, stage: stages[what], isOnItsWay };
  const hold = {
    reservation: `hold-${index}`,
    uid: `u${index}`,
    placement: placementOf(replica),
    state: what,
  };
  return { replica, stage: 'Scheduled', isOnItsWay, hold };
};

const moment: GangMoment = {
  nowMs: 10_000,
  jitter: 0,
  reserving: [],
  curedByTime: ['NodeStale'],
  plan: (some, atLeast) => ({
    ...{ kind: 'Places', coming: 0 },
    parts: [{ draft: plainDraft, places: some.slice(0, atLeast).map(placementOf) }],
  }),
};
const nowhere: Pick<GangMoment, 'plan'> = {
  plan: () => ({
    ...{ kind: 'None', found: 1, reason: 'QuotaExceeded', reasons: ['QuotaExceeded'], draft: plainDraft },
    message: 'tenant shop has no quota left',
  }),
};
/** So many of those that are asked for get what comes free. */
const comesFree = (coming: number): Pick<GangMoment, 'plan'> => ({
  plan: (some, atLeast) => ({
    ...{ kind: 'Places', coming },
    parts: [{ draft: plainDraft, places: some.slice(0, atLeast - coming).map(placementOf) }],
  }),
});
const notReady = { plan: () => ({ kind: 'NotReady' }) as const };
const other: GangView = { ...gang, name: 'other', state: 'Reserving' };

interface Row {
  readonly says: string;
  readonly gang?: Partial<GangView>;
  readonly members: readonly Parameters<typeof member>[0][];
  readonly moment?: Partial<GangMoment>;
  readonly steps: readonly string[];
}

const shown = (steps: ReturnType<typeof nextGangSteps>): string[] =>
  steps.map((step) => {
    switch (step.kind) {
      case 'Move':
        return `Move ${step.to}`;
      case 'Reserve':
      case 'Bind':
        return `${step.kind} ${step.placement.replica.name}`;
      case 'ReleaseHold':
        return `ReleaseHold ${step.reservation}`;
      case 'Place':
        return `Place ${step.replica.name}`;
      case 'Look':
        return `Look until ${step.untilMs}`;
      case 'Wait':
        return `Wait ${step.reason}${step.untilMs === undefined ? '' : ` until ${step.untilMs}`}: ${step.message}`;
    }
  });

const reserving = { state: 'Reserving' as const, attempts: 1 };

describe('what a gang does next', () => {
  it.each<Row>([
    {
      says: 'waits until enough members are queued',
      members: ['Q', 'A'],
      steps: ['Wait GangIncomplete: 1 of 2 members of gang all are queued'],
    },
    {
      says: 'begins when there are places for enough, and holds them',
      members: ['Q', 'Q', 'Q'],
      steps: ['Move Reserving', 'Reserve web-0-1', 'Reserve web-1-1'],
    },
    {
      says: '[L6] begins nothing without places for enough, and says what is in the way',
      members: ['Q', 'Q'],
      moment: nowhere,
      steps: ['Wait QuotaExceeded: 1 of 2 members find a place at once: tenant shop has no quota left'],
    },
    {
      says: '[L1] looks again soon where time alone can cure what is in the way',
      members: ['Q', 'Q'],
      moment: { ...nowhere, curedByTime: ['QuotaExceeded'] },
      steps: [
        'Wait QuotaExceeded until 12000: 1 of 2 members find a place at once: tenant shop has no quota left',
      ],
    },
    {
      says: 'begins where some wait for what others free anyhow, and holds what it can',
      members: ['Q', 'Q'],
      moment: comesFree(1),
      steps: ['Move Reserving', 'Reserve web-0-1'],
    },
    {
      says: '[L6] holds nothing where all wait for what others free anyhow',
      members: ['Q', 'Q'],
      moment: comesFree(2),
      steps: ['Wait NodeFull: 2 members wait for what others free'],
    },
    {
      says: 'having begun, gives nothing back while the rest waits for what others free',
      gang: reserving,
      members: ['Ready', 'Q'],
      moment: comesFree(1),
      steps: ['Wait NodeFull until 301000: 1 members wait for what others free'],
    },
    {
      says: 'says nothing before it is known who would make room',
      members: ['Q', 'Q'],
      moment: notReady,
      steps: ['Look until 11000'],
    },
    {
      says: 'lets one reserve at a time where they could meet',
      members: ['Q', 'Q'],
      moment: { reserving: [other] },
      steps: ['Wait GangIncomplete: gang shop/other reserves there first'],
    },
    {
      says: 'does not wait for one that goes elsewhere',
      gang: { rules: { regions: ['eu'] } },
      members: ['Q', 'Q'],
      moment: { reserving: [{ ...other, rules: { regions: ['us'] } }] },
      steps: ['Move Reserving', 'Reserve web-0-1', 'Reserve web-1-1'],
    },
    {
      says: 'backs off after an attempt',
      gang: { attempts: 3, sinceMs: 9_000 },
      members: ['Q', 'Q'],
      steps: ['Wait GangIncomplete until 11000: gang all tries again after 3 attempts'],
    },
    {
      says: 'backs off no longer than the bound, and then tries again',
      gang: { attempts: 60, sinceMs: 0 },
      members: ['Q', 'Q'],
      moment: { nowMs: 300_000, jitter: 1 },
      steps: ['Move Reserving', 'Reserve web-0-1', 'Reserve web-1-1'],
    },
    {
      says: 'holds for those that are still missing, and not again for those that hold',
      gang: reserving,
      members: ['Ready', 'Q', 'Q'],
      steps: ['Reserve web-1-1'],
    },
    {
      says: 'is not committed while enough holds still await something',
      gang: reserving,
      members: ['Ready', 'Awaits'],
      steps: ['Wait NodeFull until 301000: 1 members await what others free'],
    },
    {
      says: 'is committed when enough hold all they need',
      gang: reserving,
      members: ['Ready', 'Ready', 'Awaits'],
      steps: ['Move Committed'],
    },
    {
      says: 'gives back a hold that its node would not honour, and plans that member anew',
      gang: reserving,
      members: ['Ready', 'Broken'],
      steps: ['ReleaseHold hold-1'],
    },
    {
      says: 'gives up when what is missing has no place any more',
      gang: reserving,
      members: ['Ready', 'Q'],
      moment: nowhere,
      steps: ['Move Released'],
    },
    {
      says: 'gives nothing back only because it is not known yet who would make room',
      gang: reserving,
      members: ['Ready', 'Q'],
      moment: notReady,
      steps: ['Look until 11000'],
    },
    {
      says: '[L1] plans nobody anew while a hold that was asked for is not seen yet',
      gang: reserving,
      members: ['Ready', 'U', 'Q'],
      moment: nowhere,
      steps: ['Look until 301000'],
    },
    {
      says: 'waits no longer than others for a hold that is never seen',
      gang: reserving,
      members: ['Ready', 'U'],
      moment: { nowMs: 301_000 },
      steps: ['Move Released'],
    },
    {
      says: 'gives up when members are gone',
      gang: reserving,
      members: ['Ready'],
      steps: ['Move Released'],
    },
    {
      says: 'gives up when it takes too long',
      gang: reserving,
      members: ['Ready', 'Awaits'],
      moment: { nowMs: 301_000 },
      steps: ['Move Released'],
    },
    {
      says: 'gives way to one that began at the same time and goes first',
      gang: reserving,
      members: ['Ready', 'Q'],
      moment: { reserving: [{ ...other, priority: 1 }] },
      steps: ['Move Released'],
    },
    {
      says: 'goes on where it goes first itself',
      gang: { ...reserving, priority: 2 },
      members: ['Ready', 'Q'],
      moment: { reserving: [{ ...other, priority: 1 }] },
      steps: ['Reserve web-1-1'],
    },
    {
      says: 'having given up, gives every hold back',
      gang: { state: 'Released', holds: 2, attempts: 1 },
      members: ['Ready', 'Awaits', 'Q'],
      steps: ['ReleaseHold hold-0', 'ReleaseHold hold-1'],
    },
    {
      says: 'having given up, waits until its record counts none',
      gang: { state: 'Released', holds: 1, attempts: 1 },
      members: ['Q', 'Q'],
      steps: ['Wait GangIncomplete: 1 members of gang all still hold'],
    },
    {
      says: 'having given everything back, may try again',
      gang: { state: 'Released', attempts: 1 },
      members: ['Q', 'Q'],
      steps: ['Move Waiting'],
    },
    {
      says: 'committed, rolls every member forward, and later ones like any other',
      gang: { state: 'Committed', holds: 2 },
      members: ['Ready', 'B', 'Q'],
      steps: ['Bind web-0-1', 'Place web-2-1'],
    },
    {
      says: 'committed, does nothing for members that run or still await',
      gang: { state: 'Committed', holds: 3 },
      members: ['B', 'B', 'Awaits'],
      steps: [],
    },
  ])('$says', ({ gang: more, members, moment: now, steps }) => {
    expect(shown(nextGangSteps({ ...gang, ...more }, members.map(member), { ...moment, ...now }))).toEqual(
      steps,
    );
  });

  it('of two gangs one goes first, and both know which', () => {
    expect(goesFirst(other, gang)).toBe(false);
    expect(goesFirst(gang, other)).toBe(true);
    expect(goesFirst({ ...other, priority: 1 }, gang)).toBe(true);
    expect(goesFirst(gang, { ...other, priority: 1 })).toBe(false);
  });

  it('gangs could meet unless their own rules keep them apart', () => {
    expect(couldMeet({}, { nodeSelector: { pool: 'gpu' } })).toBe(true);
    expect(couldMeet({ nodeSelector: { pool: 'cpu' } }, { nodeSelector: { pool: 'gpu' } })).toBe(false);
    expect(couldMeet({ nodeSelector: { disk: 'ssd' } }, { nodeSelector: { pool: 'gpu' } })).toBe(true);
    expect(couldMeet({ zones: ['a', 'b'] }, { zones: ['b'] })).toBe(true);
    expect(couldMeet({ zones: ['a'] }, { zones: ['b'] })).toBe(false);
  });
});
