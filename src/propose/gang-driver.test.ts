import { describe, expect, it } from 'vitest';
import type { Timer } from '../env/env.js';
import { realEnv } from '../env/real.js';
import type { Authority } from '../model/ports.js';
import { objectKey } from '../model/records.js';
import type { NewDecision } from '../model/decisions.js';
import type { DecisionDraft, PendingReplica } from './contract.js';
import { GangDriver } from './gang-driver.js';
import type { GangPlan, GangView } from './gangs.js';
import { keptIn } from './kept-decisions.fixture.js';
import { plainDraft } from './plain-cell.fixture.js';
import { Patience } from './patience.js';
import { allCures } from './queue/cures.js';
import { RetrySender } from './retry-sender.js';
import { MapRecords } from './small-cell.fixture.js';

const view = (name: string, state: GangView['state'], more: Partial<GangView> = {}): GangView => ({
  ...{ tenant: 'a', name, state, holds: 0, attempts: 1, minAvailable: 1, priority: 0, rules: {}, sinceMs: 0 },
  ...more,
});
const member: PendingReplica = {
  ...{ tenant: 'a', name: 'r', uid: 'u', classKey: 'a/own-1', workload: 'own', slot: '0', sinceMs: 0 },
  gang: 'own',
};

/** A driver of the gang `own` of one member; the others are of another shard. */
function open(others: readonly GangView[], planMs = 0, plan?: GangPlan) {
  const records = new MapRecords();
  records.put({ [objectKey('Gang', 'a', 'own')]: { metadata: { uid: 'g' }, spec: {} } });
  const views = new Map(others.map((one) => [one.name, one]));
  views.set('own', view('own', 'Waiting', { attempts: 0 }));
  const moves: string[] = [];
  const begun: string[] = [];
  const reserves: string[] = [];
  const unassumed: string[] = [];
  let isDown = false;
  let isSlow = false;
  let isRefused = false;
  const decisions: NewDecision[] = [];
  const receipts: (string | undefined)[] = [];
  const plannings: string[] = [];
  const waits: string[] = [];
  const authority = {
    moveGang: ({ gang, to }: { readonly gang: string; readonly to: GangView['state'] }) => {
      moves.push(to);
      if (isRefused)
        return Promise.resolve({ kind: 'Rejected', reason: 'GangIncomplete', message: '', revision: '1' });
      if (to === 'Reserving') begun.push(gang);
      views.set(gang, { ...view(gang, to), ...(to === 'Reserving' && { holds: 1 }) });
      return Promise.resolve({ kind: 'Committed', result: undefined, revision: '1' });
    },
    reserve: () => {
      reserves.push('sent');
      return isDown
        ? Promise.reject(new Error('no way there'))
        : Promise.resolve({ kind: 'Committed', result: {}, revision: '1' });
    },
  } as unknown as Authority;
  let nowMs = 0;
  // Whoever waits has waited long enough when everybody else has had a turn.
  const after = (_: number, callback: () => void): Timer => {
    const immediate = setImmediate(callback);
    return { cancel: () => clearImmediate(immediate) };
  };
  const clock = { env: { ...realEnv(), after }, nowMs: () => nowMs };
  const { signal } = new AbortController();
  const driver = new GangDriver({
    ...{ authority, records, ...clock, onNews: () => undefined },
    ...{ actor: { kind: 'scheduler', name: 's' }, policyRevision: '1', idPart: 'x' },
    sender: new RetrySender({ ...clock, signal, records, patience: new Patience(clock) }),
    isOwn: (_, name) => name.endsWith('own'),
    ...{ cures: allCures, sweepEveryMs: 60_000, isGuaranteed: () => false },
    snapshotAgeMs: () => 0,
    openDecision: keptIn(decisions),
    onWait: (_, { message, decision }) => {
      waits.push(message);
      receipts.push(decision);
    },
    core: {
      gangView: (_, name) => views.get(name),
      get reservingGangs() {
        return new Set(
          [...views].filter(([, { state }]) => state === 'Reserving').map(([name]) => `a/${name}`),
        );
      },
      gangMember: (replica) => ({ replica, stage: 'Queued', isOnItsWay: false }),
      planGang: (replicas) => ({
        replicas,
        isFor: () => true,
        goOn: ({ mayGoOn }) => {
          nowMs += planMs;
          plannings.push('go on');
          if (isSlow && !mayGoOn()) return undefined;
          const nodeEpoch = { cell: 1, number: 1 };
          const places = replicas.map((replica) => ({ replica, node: 'n', nodeEpoch }));
          return plan ?? { kind: 'Places', coming: 0, parts: [{ draft: plainDraft, places }] };
        },
        giveUp: () => void plannings.push('give up'),
      }),
      unassume: ({ uid }) => void unassumed.push(uid),
    },
  });
  driver.add(member, 'own');
  const work = async (afterMs: number): Promise<boolean> => {
    nowMs += afterMs;
    driver.changed('a');
    const isMore = driver.work(nowMs);
    // What it sends is answered in promise turns.
    await new Promise((resolve) => setImmediate(resolve));
    return isMore;
  };
  /** Another gang of this shard. */
  const addOwn = (name: string, rules: GangView['rules']): void => {
    records.put({ [objectKey('Gang', 'a', name)]: { metadata: { uid: name }, spec: {} } });
    views.set(name, view(name, 'Waiting', { attempts: 0, rules }));
    driver.add({ ...member, uid: `u-${name}`, gang: name }, name);
  };
  const goDown = (): void => {
    isDown = true;
  };
  const beSlow = (is: boolean): void => {
    isSlow = is;
  };
  const refuse = (): void => {
    isRefused = true;
  };
  return {
    ...{ views, moves, begun, waits, reserves, unassumed, driver, work, addOwn, goDown },
    ...{ decisions, receipts, plannings, beSlow, refuse },
  };
}

describe('GangDriver', () => {
  it('begins only when no gang of another shard reserves that could take the same nodes', async () => {
    const { views, moves, waits, work } = open([view('other', 'Reserving')]);
    await work(0);
    expect([moves, waits]).toEqual([[], ['gang a/other reserves there first']]);
    views.set('other', view('other', 'Committed'));
    await work(1_000);
    expect(moves).toEqual(['Reserving']);
  });

  it('does not wait for one that could not take the same nodes', async () => {
    const { views, moves, work } = open([view('other', 'Reserving', { rules: { regions: ['us'] } })]);
    views.set('own', view('own', 'Waiting', { attempts: 0, rules: { regions: ['eu'] } }));
    await work(0);
    expect(moves).toEqual(['Reserving']);
  });

  it('[L1] does not wait for one of its own shard that has no members left', async () => {
    const { moves, work } = open([view('also-own', 'Reserving')]);
    await work(0);
    expect(moves).toEqual(['Reserving']);
  });

  it('gives up what it holds where one of another shard that goes first began in the same moment', async () => {
    const { views, moves, work } = open([]);
    await work(0);
    views.set('another', view('another', 'Reserving'));
    await work(1_000);
    expect(moves).toEqual(['Reserving', 'Released']);
  });

  it('[L1] waits no longer than a gang may reserve for one that nobody drives', async () => {
    const { moves, work } = open([view('other', 'Reserving')]);
    await work(0);
    await work(599_000);
    expect(moves).toEqual([]);
    await work(1_000);
    expect(moves).toEqual(['Reserving']);
  });

  it('[L9] does not ask for a hold again when its member is gone, and its place is free', async () => {
    const { reserves, unassumed, driver, work, goDown } = open([]);
    goDown();
    await work(0);
    expect(reserves).toEqual(['sent']);
    unassumed.length = 0;
    driver.remove(member.uid);
    await work(60_000);
    await work(60_000);
    expect([reserves, unassumed]).toEqual([['sent'], [member.uid]]);
  });

  it('keeps what was decided for its members with what the authority answered to each', async () => {
    const { decisions, work } = open([]);
    await work(0);
    expect(decisions).toMatchObject([
      {
        tenant: 'a',
        spec: { result: 'Placed', choices: [{ replica: 'r', node: 'n', outcome: 'Committed' }] },
      },
    ]);
  });

  it('keeps that the authority did not let it begin', async () => {
    const { decisions, reserves, unassumed, work, refuse } = open([]);
    refuse();
    await work(0);
    expect([reserves, unassumed.includes(member.uid)]).toEqual([[], true]);
    expect(decisions[0]?.spec.choices).toMatchObject([{ outcome: 'Rejected', reason: 'GangIncomplete' }]);
  });

  it('[L6] tells its members which decision says why there is no place, one for as long as it says the same', async () => {
    const draft: DecisionDraft = { ...plainDraft, result: 'NotPlaced', reason: 'NodeFull' };
    const none = {
      kind: 'None',
      found: 0,
      reason: 'NodeFull',
      reasons: ['NodeFull'],
      message: 'full',
      draft,
    } as const;
    const { decisions, receipts, work } = open([], 0, none);
    await work(0);
    await work(2_000);
    expect(decisions).toMatchObject([{ spec: { result: 'NotPlaced', choices: [] } }]);
    expect(receipts).toEqual([decisions[0]?.name, decisions[0]?.name]);
  });

  it('[L10] looks again where it may rank above a replica that can be asked to leave now, and not else', async () => {
    const draft: DecisionDraft = { ...plainDraft, result: 'NotPlaced', reason: 'NodeFull' };
    const none = { kind: 'None', found: 0, reason: 'NodeFull', reasons: ['NodeFull'] } as const;
    const { driver, work } = open([], 0, { ...none, message: 'full', draft });
    await work(0);
    expect(driver.nextDueMs).toBe(60_000);
    driver.cured({ priority: 0, isBorrowed: true });
    expect(driver.nextDueMs).toBe(60_000);
    driver.cured({ priority: -1, isBorrowed: false });
    expect(driver.nextDueMs).toBe(1_000);
  });

  it('goes on planning in its next slice where time was over, and gives it up when a member goes', async () => {
    const { plannings, moves, driver, work, beSlow } = open([], 9);
    beSlow(true);
    await work(0);
    await work(0);
    expect([plannings, moves, driver.nextDueMs]).toEqual([['go on', 'go on'], [], 0]);
    beSlow(false);
    await work(0);
    expect(moves).toEqual(['Reserving']);
    const other = open([], 9);
    other.beSlow(true);
    await other.work(0);
    other.driver.remove(member.uid);
    expect(other.plannings).toEqual(['go on', 'give up']);
  });

  it('[L1] plans for one gang at a time: of two that each had half of what there is neither would find enough', async () => {
    const { plannings, begun, addOwn, work, beSlow } = open([], 9);
    addOwn('b', {});
    beSlow(true);
    await work(0);
    await work(0);
    await work(0);
    expect([new Set(plannings), begun]).toEqual([new Set(['go on']), []]);
    beSlow(false);
    plannings.length = 0;
    await work(0);
    expect([plannings, begun]).toEqual([['go on'], ['own']]);
  });

  it('gives up what it planned when another goes first meanwhile', async () => {
    const { plannings, waits, views, work, beSlow } = open([], 9);
    beSlow(true);
    await work(0);
    views.set('other', view('other', 'Reserving'));
    await work(0);
    expect([plannings, waits]).toEqual([['go on', 'give up'], ['gang a/other reserves there first']]);
  });

  it('of two that could take the same nodes and are due at once, one begins', async () => {
    const { begun, waits, work, addOwn } = open([]);
    addOwn('b', {});
    await work(0);
    expect([begun, waits]).toEqual([['own'], ['gang a/own reserves there first']]);
  });

  it('plans for a slice at a time, and in the next one those that had no turn yet', async () => {
    const { begun, work, addOwn, views } = open([], 5);
    views.set('own', view('own', 'Waiting', { attempts: 0, rules: { zones: ['own'] } }));
    for (const name of ['b', 'c', 'd']) addOwn(name, { zones: [name] });
    expect(await work(0)).toBe(true);
    expect(begun).toEqual(['own', 'b']);
    // Those are due again at once, and do not go before the others.
    for (const name of ['own', 'b'])
      views.set(name, view(name, 'Waiting', { attempts: 0, rules: { zones: [name] } }));
    await work(0);
    expect(begun).toEqual(['own', 'b', 'c', 'd']);
  });
});
