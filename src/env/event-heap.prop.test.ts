import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventHeap } from './event-heap.js';

describe('EventHeap', () => {
  it('gives events back by time, then tiebreak, then sequence, whatever the order they came in', () => {
    const event = fc.record({ atMs: fc.nat(5), tiebreak: fc.nat(3), popAfter: fc.boolean() });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const heap = new EventHeap<{ atMs: number; tiebreak: number; sequence: number }>();
        const expected: { atMs: number; tiebreak: number; sequence: number }[] = [];
        const order = (a: (typeof expected)[0], b: (typeof expected)[0]): number =>
          a.atMs - b.atMs || a.tiebreak - b.tiebreak || a.sequence - b.sequence;
        for (const [sequence, { atMs, tiebreak, popAfter }] of events.entries()) {
          heap.push({ atMs, tiebreak, sequence });
          expected.push({ atMs, tiebreak, sequence });
          expected.sort(order);
          if (popAfter) expect(heap.pop()).toEqual(expected.shift());
          expect(heap.peek()).toEqual(expected[0]);
        }
        while (heap.size > 0) expect(heap.pop()).toEqual(expected.shift());
        expect(expected).toEqual([]);
        expect(heap.pop()).toBeUndefined();
      }),
    );
  });
});
