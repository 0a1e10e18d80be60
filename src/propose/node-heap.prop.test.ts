import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeHeap } from './node-heap.js';

const entry = fc.record({ score: fc.integer({ min: 0, max: 5 }), tie: fc.integer({ min: 0, max: 2 }) });

describe('the heap of nodes', () => {
  it('gives rows by score, then tie, then name, whatever is pushed, popped or scored anew', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 30 }),
        fc.nat(30),
        fc.array(fc.integer({ min: -2, max: 5 }), { maxLength: 60 }),
        (entries, ordered, steps) => {
          const names = entries.map((_, row) => `n${String(row).padStart(3, '0')}`);
          const columns = {
            rows: Int32Array.from(entries, (_, row) => row),
            scores: Float64Array.from(entries, ({ score }) => score),
            ties: Uint32Array.from(entries, ({ tie }) => tie),
          };
          const first = Math.min(ordered, entries.length);
          const heap = new NodeHeap(columns, names, first);
          for (const [row, { score, tie }] of entries.entries()) if (row >= first) heap.push(row, score, tie);
          let expected = entries.map((one, row) => ({ ...one, row }));
          const top = () =>
            expected.toSorted((a, b) => b.score - a.score || b.tie - a.tie || a.row - b.row)[0];
          for (const step of [...steps, ...entries.map(() => -1)]) {
            const best = top();
            expect(heap.size).toBe(expected.length);
            if (best === undefined) break;
            expect([heap.topRow, heap.topScore, heap.topTie]).toEqual([best.row, best.score, best.tie]);
            if (step < 0) heap.pop();
            else heap.rescoreTop(step);
            expected = expected.flatMap((one) =>
              one.row !== best.row ? [one] : step < 0 ? [] : [{ ...one, score: step }],
            );
          }
        },
      ),
    );
  });
});
