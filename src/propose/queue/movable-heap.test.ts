import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MovableHeap } from './movable-heap.js';

describe('MovableHeap', () => {
  it('has the first of its members at the top, whatever comes, goes and changes', () => {
    const step = fc.record({ move: fc.constantFrom('put', 'remove'), id: fc.nat(20), rank: fc.nat(50) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const members = Array.from({ length: 21 }, (_, id) => ({ id, rank: 0 }));
        const inside = new Set<(typeof members)[number]>();
        const heap = new MovableHeap<(typeof members)[number]>((a, b) => a.rank < b.rank);
        for (const { move, id, rank } of steps) {
          const member = members[id] as (typeof members)[number];
          if (move === 'remove') {
            heap.remove(member);
            inside.delete(member);
          } else {
            member.rank = rank;
            heap.put(member);
            inside.add(member);
          }
          expect(heap.size).toBe(inside.size);
          const first = Math.min(...[...inside].map((one) => one.rank));
          expect(heap.peek()?.rank ?? Infinity).toBe(first);
        }
        expect(new Set(heap)).toEqual(inside);
      }),
    );
  });
});
