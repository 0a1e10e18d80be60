import { describe, expect, it } from 'vitest';
import type { Timer } from '../env/env.js';
import { realEnv } from '../env/real.js';
import type { Authority } from '../model/ports.js';
import { objectKey } from '../model/records.js';
import type { PendingReplica } from './contract.js';
import { GangDriver } from './gang-driver.js';
import type { GangView } from './gangs.js';
import { Patience } from './patience.js';
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
function open(others: readonly GangView[], planMs = 0) {
  const records = new MapRecords();
  records.put({ [objectKey('Gang', 'a', 'own')]: { metadata: { uid: 'g' }, spec: {} } });
  const views = new Map(others.map((one) => [one.name, one]));
  views.set('own', view('own', 'Waiting', { attempts: 0 }));
  const moves: string[] = [];
  const begun: string[] = [];
  const reserves: string[] = [];
  const unassumed: string[] = [];
  let isDown = false;
  const waits: string[] = [];
  const authority = {
    moveGang: ({ gang, to }: { readonly gang: string; readonly to: GangView['state'] }) => {
      moves.push(to);
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
    onWait: (_, __, message) => void waits.push(message),
    core: {
      gangView: (_, name) => views.get(name),
      get reservingGangs() {
        return new Set(
          [...views].filter(([, { state }]) => state === 'Reserving').map(([name]) => `a/${name}`),
        );
      },
      gangMember: (replica) => ({ replica, stage: 'Queued', isOnItsWay: false }),
      planGang: (replicas) => {
        nowMs += planMs;
        const nodeEpoch = { cell: 1, number: 1 };
        return { kind: 'Places', places: replicas.map((replica) => ({ replica, node: 'n', nodeEpoch })) };
      },
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
  return { views, moves, begun, waits, reserves, unassumed, driver, work, addOwn, goDown };
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
