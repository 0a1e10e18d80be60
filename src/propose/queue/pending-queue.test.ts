import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import type { Amount } from '../../model/amount.js';
import type { PendingReplica } from '../contract.js';
import type { ParkReason } from './cures.js';
import type { LotFacts } from './lots.js';
import { type LotTurn, PendingQueue } from './pending-queue.js';

const newQueue = (turnMax = 256): PendingQueue =>
  new PendingQueue({
    random: new SeededRandom('q'),
    backoff: { firstMs: 100, mostMs: 10_000 },
    turnMax,
    onReturn: () => undefined,
  });

const replica = (uid: string, tenant = 'a', lot = 'web', sinceMs = 0): PendingReplica => ({
  ...{ uid, name: uid, tenant, sinceMs, workload: lot, slot: uid, classKey: `${tenant}/${lot}` },
});
const facts = (one: PendingReplica, priority = 0, cpuMilli = 1_000): LotFacts => ({
  ...{ lot: one.classKey, priority, amount: { cpuMilli } },
});
const add = (queue: PendingQueue, one: PendingReplica, priority = 0, cpuMilli = 1_000): void =>
  queue.add(one, facts(one, priority, cpuMilli));
/** Takes a turn and places nobody. */
const tryInVain = (
  queue: PendingQueue,
  reasons: readonly ParkReason[] = ['NodeFull'],
): string | undefined => {
  const turn = queue.take(0);
  if (turn !== undefined)
    queue.answer(
      turn,
      0,
      turn.replicas.map(({ uid }) => uid),
      reasons,
    );
  return turn?.lot;
};
const uids = (queue: PendingQueue, nowMs = 0): readonly string[] | undefined =>
  queue.take(nowMs)?.replicas.map(({ uid }) => uid);

describe('PendingQueue', () => {
  it('hands out bands by priority, of a tenant the class that waits longest, in order and so many at a time', () => {
    const queue = newQueue(2);
    for (const [uid, lot, since] of [
      ['n1', 'new', 5],
      ['o1', 'old', 1],
      ['o2', 'old', 6],
      ['o3', 'old', 7],
    ] as const)
      add(queue, replica(uid, 'a', lot, since));
    add(queue, replica('c1', 'b', 'urgent', 9), 1_000);
    expect([uids(queue), uids(queue), uids(queue), uids(queue), uids(queue)]).toEqual([
      ['c1'],
      ['o1', 'o2'],
      ['n1'],
      ['o3'],
      undefined,
    ]);
  });

  it('parks a class as a whole under its reasons, and only a change that could cure one of them wakes it', () => {
    const queue = newQueue(2);
    for (const uid of ['1', '2', '3']) add(queue, replica(uid));
    const turn = queue.take(0);
    queue.answer(turn as never, 0, ['1', '2'], ['NodeFull', 'Tainted']);
    add(queue, replica('4'));
    expect(['1', '2', '3', '4'].map((uid) => queue.stateOf(uid))).toEqual(Array(4).fill('parked'));
    for (const reason of ['QuotaExceeded', 'GateClosed'] as const) queue.wake(reason);
    queue.wake('Tainted', { tenant: 'another tenant' });
    expect(uids(queue)).toBeUndefined();
    queue.wake('Tainted');
    expect(uids(queue)).toEqual(['1', '2', '3', '4']);
    expect(uids(queue)).toBeUndefined();
  });

  it('tries a woken class with a few replicas, then with all when they find a place', () => {
    const queue = newQueue();
    for (let at = 0; at < 100; at++) add(queue, replica(String(at)));
    const first = queue.take(0);
    queue.answer(first as never, 0, first?.replicas.map(({ uid }) => uid) ?? [], ['NodeFull']);
    queue.wake('NodeFull');
    const probe = queue.take(0);
    expect(probe?.replicas.map(({ uid }) => uid)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    queue.answer(probe as never, 8, [], []);
    expect(queue.take(0)?.replicas).toHaveLength(92);
  });

  it('backs off longer with each failure, and gives back what comes at once before the others', () => {
    const queue = newQueue(1);
    add(queue, replica('1'));
    add(queue, replica('2'));
    expect(uids(queue)).toEqual(['1']);
    queue.backOff('1', 0);
    expect(queue.stateOf('1')).toBe('backingOff');
    expect(uids(queue)).toEqual(['2']);
    queue.again('2');
    expect(uids(queue)).toEqual(['2']);
    const dueMs = queue.nextDueMs ?? 0;
    expect(uids(queue, dueMs - 1)).toBeUndefined();
    expect(uids(queue, dueMs)).toEqual(['1']);
    queue.backOff('1', 1_000);
    expect((queue.nextDueMs ?? 0) - 1_000).toBeGreaterThanOrEqual(100);
    queue.remove('1');
    expect(uids(queue, 1e9)).toBeUndefined();
    expect(queue.size).toBe(1);
  });

  it('counts what a turn hands out at once, so that tenants with the same weight get the same', () => {
    const queue = newQueue();
    queue.shares.setTotal({ cpuMilli: 1_000_000 });
    for (let at = 0; at < 400; at++)
      for (const tenant of ['a', 'b']) add(queue, replica(`${tenant}${at}`, tenant));
    const got = { a: 0, b: 0 };
    for (let turn = queue.take(0); got.a + got.b < 400 && turn !== undefined; turn = queue.take(0))
      got[turn.replicas[0]?.tenant as 'a' | 'b'] += turn.replicas.length;
    expect(Math.abs(got.a - got.b)).toBeLessThanOrEqual(4);
  });

  it('a storm of classes that cannot be placed delays those that can by a few turns each, also of the same tenant', () => {
    for (const stormTenant of ['storm', 'good']) {
      const queue = newQueue();
      queue.shares.setTotal({ cpuMilli: 1_000_000_000 });
      for (let at = 0; at < 1_000; at++) add(queue, replica(`g${at}`, 'good', `good-${at}`, 10));
      const bad = Array.from({ length: 50_000 }, (_, at) =>
        replica(`s${at}`, stormTenant, `storm-${at}`, 20),
      );
      for (const one of bad) add(queue, one);
      const turnsUntilPlaced = (goal: number): number => {
        let placed = 0;
        for (let turns = 0; ; turns++) {
          const turn = queue.take(0);
          if (turn === undefined || placed >= goal) return turns;
          const isGood = turn.classKey.includes('good-');
          if (isGood) for (const { uid } of turn.replicas) queue.remove(uid);
          placed += isGood ? turn.replicas.length : 0;
          const waiting = isGood ? [] : turn.replicas.map(({ uid }) => uid);
          queue.answer(turn, isGood ? turn.replicas.length : 0, waiting, ['NodeFull']);
        }
      };
      expect(turnsUntilPlaced(1_000)).toBeLessThan(1_100);
      expect(turnsUntilPlaced(Infinity)).toBeGreaterThan(49_000);
      // Woken again and again while new work comes.
      for (let round = 0; round < 10; round++) {
        queue.wake('NodeFull');
        for (let at = 0; at < 100; at++)
          add(queue, replica(`g${round}/${at}`, 'good', `good-${round}-${at}`, 30));
        expect(turnsUntilPlaced(100)).toBeLessThan(160);
      }
    }
  });

  it('wakes for room only who may find enough of it, and all where nobody says how much there is', () => {
    const queue = newQueue();
    for (const cpu of [1, 2, 4, 64]) add(queue, replica(`c${cpu}`, 'a', `w${cpu}`), 0, cpu * 1_000);
    while (tryInVain(queue) !== undefined);
    const triedWith = (room?: Amount): readonly (string | undefined)[] => {
      queue.wake('NodeFull', room === undefined ? {} : { room });
      const tried: string[] = [];
      for (let lot = tryInVain(queue); lot !== undefined; lot = tryInVain(queue)) tried.push(lot);
      return tried;
    };
    expect(triedWith({ cpuMilli: 500 })).toEqual([]);
    expect(triedWith({ cpuMilli: 2_000 })).toEqual(['a/w1', 'a/w2']);
    expect(triedWith({ memoryBytes: 1e9 })).toEqual([]);
    expect(triedWith({ cpuMilli: 8_000 })).toEqual(['a/w4', 'a/w1', 'a/w2']);
    expect(triedWith()).toEqual(['a/w64', 'a/w4', 'a/w1', 'a/w2']);
  });

  it('[L10] wakes for a replica that can be asked to leave only who may rank above it: by priority, or by a guarantee', () => {
    const queue = newQueue();
    add(queue, replica('l', 'a', 'low'), 1);
    add(queue, replica('m', 'b', 'middle'), 5);
    add(queue, replica('h', 'c', 'high'), 9);
    while (tryInVain(queue) !== undefined);
    const triedAbove = (priority: number, isBorrowed: boolean): readonly string[] => {
      queue.wake('NodeFull', { above: { priority, isBorrowed } });
      const tried: string[] = [];
      for (let lot = tryInVain(queue); lot !== undefined; lot = tryInVain(queue)) tried.push(lot);
      return tried;
    };
    expect(triedAbove(5, true)).toEqual(['c/high']);
    expect(triedAbove(9, true)).toEqual([]);
    queue.shares.setGuaranteed('a', true);
    expect(triedAbove(9, true)).toEqual(['a/low']);
    expect(triedAbove(9, false)).toEqual([]);
  });

  it('[L10] what was woken in vain takes at most four turns in a row from lower bands, woken or new', () => {
    const queue = newQueue();
    for (let at = 0; at < 100; at++) add(queue, replica(`h${at}`, 'a', `high-${at}`), 10);
    add(queue, replica('m', 'b', 'middle'), 5);
    add(queue, replica('l', 'c', 'low'), 1);
    while (tryInVain(queue) !== undefined);
    for (const uid of ['n1', 'n2']) add(queue, replica(uid, 'd', uid));
    const tried: string[] = [];
    for (let at = 0; at < 24; at++) {
      // Something ends all the time.
      queue.wake('NodeFull');
      tried.push(tryInVain(queue, at === 4 ? ['Tainted'] : ['NodeFull']) ?? '');
    }
    const lower = tried.flatMap((lot, at) => (lot.startsWith('a/') ? [] : [`${at} ${lot}`]));
    expect(lower).toEqual(['4 d/n1', '9 d/n2', '14 b/middle', '18 c/low', '22 d/n2']);
  });

  it('goes on with a higher band for as long as what was woken there finds a place', () => {
    const queue = newQueue();
    for (let at = 0; at < 20; at++) add(queue, replica(`h${at}`, 'a', `high-${at}`), 10);
    while (tryInVain(queue) !== undefined);
    for (let at = 0; at < 100; at++) add(queue, replica(`l${at}`, 'b', 'low'));
    queue.wake('NodeFull');
    for (let at = 0; at < 20; at++) {
      const turn = queue.take(0);
      expect(turn?.lot).toMatch(/^a\/high/);
      queue.answer(turn as LotTurn, 1, [], []);
      queue.remove(turn?.replicas[0]?.uid ?? '');
    }
    expect(queue.take(0)?.replicas).toHaveLength(100);
  });

  it('hands out a few only of a lower band while what was woken in a higher one has not been tried', () => {
    const queue = newQueue();
    for (let at = 0; at < 20; at++) add(queue, replica(`h${at}`, 'a', `high-${at}`), 10);
    while (tryInVain(queue) !== undefined);
    for (let at = 0; at < 100; at++) add(queue, replica(`l${at}`, 'b', 'low'));
    queue.wake('NodeFull');
    for (let at = 0; at < 4; at++) tryInVain(queue);
    expect(queue.take(0)?.replicas).toHaveLength(8);
  });

  it('passes over a tenant that fails again and again for as long as before when all are woken', () => {
    const queue = newQueue();
    for (let at = 0; at < 200; at++) add(queue, replica(`v${at}`, 'vain', `v${at}`));
    while (tryInVain(queue) !== undefined);
    for (let at = 0; at < 100; at++) add(queue, replica(`g${at}`, 'good', `g${at}`));
    const vainTurns = (turns: number): number => {
      let vain = 0;
      for (let at = 0; at < turns; at++) {
        const turn = queue.take(0) as LotTurn;
        const isVain = turn.lot.startsWith('vain/');
        vain += isVain ? 1 : 0;
        queue.answer(turn, isVain ? 0 : 1, isVain ? turn.replicas.map(({ uid }) => uid) : [], ['NodeFull']);
      }
      return vain;
    };
    queue.wake('NodeFull');
    expect(vainTurns(40)).toBe(1);
    queue.wake('NodeFull', { tenant: 'vain' });
    expect(vainTurns(40)).toBeGreaterThan(4);
  });

  it('[L2] a lot that was woken stays so when its priority changes', () => {
    const queue = newQueue();
    add(queue, replica('1'));
    tryInVain(queue, ['Tainted']);
    queue.wake('Tainted');
    queue.reprioritize(() => 10);
    expect(uids(queue)).toEqual(['1']);
  });

  it('holds 100,000 in one class and in as many classes, at a few microseconds each', () => {
    for (const lots of [1, 100_000]) {
      const queue = newQueue();
      for (let at = 0; at < 100_000; at++) add(queue, replica(String(at), 'a', `w${at % lots}`));
      let handed = 0;
      for (let turn = queue.take(0); turn !== undefined; turn = queue.take(0)) {
        handed += turn.replicas.length;
        queue.answer(turn, turn.replicas.length, [], []);
        for (const { uid } of turn.replicas) queue.remove(uid);
      }
      expect(handed).toBe(100_000);
      expect(queue.size).toBe(0);
    }
  });
});
