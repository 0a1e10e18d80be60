import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemberQueue } from './member-queue.js';

type Step = { readonly put: number } | { readonly back: number } | { readonly take: number };

describe('the queue of members', () => {
  it('gives them in order, those put first before all others, like a plain list', () => {
    const step = fc.oneof(
      fc.record({ put: fc.nat(3_000) }),
      fc.record({ back: fc.nat(50) }),
      fc.record({ take: fc.nat(2_500) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps: readonly Step[]) => {
        const queue = new MemberQueue<number>();
        let list: number[] = [];
        let next = 1;
        const some = (count: number): number[] => Array.from({ length: count }, () => next++);
        for (const one of steps) {
          if ('put' in one) for (const value of some(one.put)) list.push((queue.push(value), value));
          else if ('back' in one) {
            const back = some(one.back);
            queue.putFirst(back);
            list = [...back, ...list];
          } else
            for (let count = 0; count < Math.min(one.take, list.length); count++) {
              if (queue.first !== list[count]) return false;
              queue.takeFirst();
            }
          if ('take' in one) list = list.slice(Math.min(one.take, list.length));
          expect(queue.length).toBe(list.length);
          expect(queue.first).toBe(list[0]);
        }
        return true;
      }),
      { numRuns: 60 },
    );
  });
});
