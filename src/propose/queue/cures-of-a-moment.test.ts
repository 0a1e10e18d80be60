import { expect, it } from 'vitest';
import type { Cure } from './cures.js';
import { CuresOfAMoment } from './cures-of-a-moment.js';
import type { WakeScope } from './parked-lots.js';

function wakesOf(...cures: readonly Omit<Cure, 'change' | 'isFaint'>[]): readonly unknown[] {
  const moment = new CuresOfAMoment();
  for (const cure of cures) moment.add(cure);
  const wakes: unknown[] = [];
  const wake = (reason: string, scope?: WakeScope): void => void wakes.push([reason, scope]);
  moment.wake({ wake });
  moment.wake({ wake });
  expect(moment.size).toBe(0);
  return wakes;
}

it('a thousand changes of a moment wake once, with the most of each resource that one of them left room for', () => {
  const freed = (cpuMilli: number, memoryBytes: number) => ({
    reasons: ['NodeFull'] as const,
    room: { cpuMilli, memoryBytes },
  });
  expect(wakesOf(...Array.from({ length: 1_000 }, () => freed(1, 2)), freed(2, 1))).toEqual([
    ['NodeFull', { room: { cpuMilli: 2, memoryBytes: 2, devices: {} } }],
  ]);
});

it('what is for all is for whoever finds room too, and a tenant of its own still gets its new start', () => {
  const reasons = ['NodeFull'] as const;
  expect(wakesOf({ reasons, room: { cpuMilli: 1 } }, { reasons }, { reasons, tenant: 'a' })).toEqual([
    ['NodeFull', undefined],
    ['NodeFull', { tenant: 'a' }],
  ]);
});

it('[L10] what is for those alone that may rank above a replica wakes for the lowest of them, and for all if something is', () => {
  const reasons = ['NodeFull'] as const;
  const above = (priority: number, isBorrowed: boolean) => ({ reasons, above: { priority, isBorrowed } });
  expect(wakesOf(above(5, false), above(3, true), above(9, false))).toEqual([
    ['NodeFull', { above: { priority: 3, isBorrowed: true } }],
  ]);
  expect(wakesOf(above(5, false), { reasons })).toEqual([['NodeFull', undefined]]);
  const moment = new CuresOfAMoment();
  moment.add(above(5, true));
  moment.add(above(4, false));
  expect(moment.above).toEqual({ priority: 4, isBorrowed: true });
  moment.add({ reasons, tenant: 'a' });
  expect(moment.above).toBeUndefined();
});
