import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fifo } from './fifo.js';

describe('Fifo', () => {
  it('gives back what came first, whatever is pushed, shifted and put back in between', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { maxLength: 400 }), (moves) => {
        const fifo = new Fifo<number>();
        const expected: number[] = [];
        for (const [at, move] of moves.entries()) {
          if (move === 3) {
            fifo.unshift(at);
            expected.unshift(at);
          } else if (move === 2) {
            fifo.push(at);
            expected.push(at);
          } else expect(fifo.shift()).toBe(expected.shift());
          expect(fifo.size).toBe(expected.length);
          expect(fifo.peek()).toBe(expected[0]);
        }
        expect([...fifo]).toEqual(expected);
      }),
    );
  });
});
