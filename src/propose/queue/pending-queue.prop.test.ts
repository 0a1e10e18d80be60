import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import type { PendingReplica } from '../contract.js';
import { type LotTurn, PendingQueue } from './pending-queue.js';

const cpuMilli = 1_000;
const onReturn = (): void => undefined;

describe('PendingQueue, whatever happens', () => {
  const step = fc.record({
    move: fc.constantFrom('add', 'add', 'add', 'remove', 'take', 'park', 'backOff', 'again', 'wake', 'later'),
    which: fc.nat(40),
  });
  const reasonNames = ['NodeFull', 'Tainted', 'QuotaExceeded'] as const;

  it('[L2] loses nobody, hands nobody out twice, and never a lower band before a higher one', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), fc.integer(), (steps, seed) => {
        const random = new SeededRandom(`queue/${seed}`);
        const queue = new PendingQueue({
          random,
          backoff: { firstMs: 10, mostMs: 1_000 },
          turnMax: 3,
          onReturn,
        });
        queue.shares.setTotal({ cpuMilli: 100 * cpuMilli });
        const known = new Map<string, { readonly priority: number; out: boolean }>();
        let nowMs = 0;
        let last: LotTurn | undefined;
        const take = (): void => {
          last = queue.take(nowMs);
          for (const { uid } of last?.replicas ?? []) {
            const one = known.get(uid);
            expect(one?.out, `${uid} is handed out, and not twice`).toBe(false);
            if (one === undefined) continue;
            for (const [other, { priority }] of known)
              if (priority > one.priority)
                expect(queue.stateOf(other), 'a higher one goes first').not.toBe('active');
            one.out = true;
          }
        };
        for (const [at, { move, which }] of steps.entries()) {
          const outs = [...known].filter(([, { out }]) => out).map(([uid]) => uid);
          const uid = outs[which % Math.max(1, outs.length)];
          if (move === 'add') {
            const [tenant, lot, priority] = [`t${which % 3}`, `w${which % 7}`, (which % 7) % 3];
            const replica: PendingReplica = {
              ...{ uid: String(at), name: String(at), tenant, workload: lot, slot: String(at) },
              ...{ classKey: `${tenant}/${lot}`, sinceMs: nowMs },
            };
            queue.add(replica, { lot: replica.classKey, priority, amount: { cpuMilli } });
            known.set(replica.uid, { priority, out: false });
          } else if (move === 'remove') {
            const gone = [...known.keys()][which % Math.max(1, known.size)];
            if (gone !== undefined) queue.remove(gone);
            known.delete(gone ?? '');
          } else if (move === 'take') take();
          else if (move === 'park' && last !== undefined) {
            const waiting = last.replicas.map((one) => one.uid).filter((one) => known.get(one)?.out === true);
            queue.answer(last, 0, waiting, [reasonNames[which % 3] ?? 'NodeFull']);
            for (const one of waiting) (known.get(one) as { out: boolean }).out = false;
          } else if (move === 'wake') queue.wake(reasonNames[which % 3] ?? 'NodeFull');
          else if (move === 'later') nowMs += which * 100;
          else if (uid !== undefined && (move === 'backOff' || move === 'again')) {
            if (move === 'again') queue.again(uid);
            else queue.backOff(uid, nowMs);
            (known.get(uid) as { out: boolean }).out = false;
          }
          for (const [one, { out }] of known) {
            const state = queue.stateOf(one);
            expect(state === 'out', `${one} is ${state}`).toBe(out);
            expect(state).toBeDefined();
          }
          expect(queue.size).toBe(known.size);
        }
        // In the end a sweep brings out whoever is still there.
        queue.sweep();
        nowMs += 1_000_000;
        for (let left = known.size + 1; left > 0; left--) take();
        expect([...known.values()].every(({ out }) => out)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('under constant overload tenants with weights 1 and 3 get 25 and 75 of 100, within 2', () => {
    const random = new SeededRandom('fair');
    for (const capacity of [200, 2_000]) {
      const queue = new PendingQueue({
        random,
        backoff: { firstMs: 10, mostMs: 1_000 },
        turnMax: 256,
        onReturn,
      });
      queue.shares.setTotal({ cpuMilli: capacity * cpuMilli });
      queue.shares.setWeight('a', 1);
      queue.shares.setWeight('b', 3);
      let count = 0;
      const demand = { a: 0, b: 0 };
      const running: { tenant: 'a' | 'b' }[] = [];
      const used = (tenant: string): number => running.filter((one) => one.tenant === tenant).length;
      const shares: number[] = [];
      for (let round = 0; round < 400; round++) {
        // Each tenant always wants more than there is, in several classes.
        for (const tenant of ['a', 'b'] as const)
          for (; demand[tenant] < 2 * capacity; demand[tenant]++) {
            const uid = String(count++);
            const classKey = `${tenant}/w${count % 5}`;
            const replica = { uid, name: uid, tenant, workload: 'w', slot: uid, classKey, sinceMs: round };
            queue.add(replica, { lot: classKey, priority: 0, amount: { cpuMilli } });
          }
        for (let ended = 0; ended < capacity / 20 && running.length > 0; ended++) {
          running.splice(random.integer(running.length), 1);
          queue.wake('NodeFull');
        }
        for (const tenant of ['a', 'b']) {
          queue.shares.setUsed(tenant, { cpuMilli: used(tenant) * cpuMilli });
          queue.reorder(tenant);
        }
        for (let turn = queue.take(round); turn !== undefined; turn = queue.take(round)) {
          const fits = turn.replicas.slice(0, capacity - running.length);
          for (const { uid, tenant } of fits) {
            running.push({ tenant: tenant as 'a' | 'b' });
            demand[tenant as 'a' | 'b'] -= 1;
            queue.shares.setUsed(tenant, { cpuMilli: used(tenant) * cpuMilli });
            queue.remove(uid);
          }
          const waiting = turn.replicas.slice(fits.length).map(({ uid }) => uid);
          queue.answer(turn, fits.length, waiting, ['NodeFull']);
        }
        if (round >= 100) shares.push(used('a') / running.length);
      }
      const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
      expect(mean).toBeGreaterThan(0.23);
      expect(mean).toBeLessThan(0.27);
    }
  });
});
