import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeHeap } from './node-heap.js';

const entry = fc.record({ score: fc.integer({ min: 0, max: 5 }), tie: fc.integer({ min: 0, max: 2 }) });
const step = fc.record({ row: fc.nat(39), score: fc.integer({ min: -3, max: 5 }) });

describe('the heap of nodes', () => {
  it('gives rows by score, then tie, then name, whatever is put in, taken out or scored anew', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 40, maxLength: 40 }),
        fc.nat(40),
        fc.array(step, { maxLength: 60 }),
        (entries, appended, steps) => {
          const columns = {
            scores: Float64Array.from(entries, ({ score }) => score),
            ties: Uint32Array.from(entries, ({ tie }) => tie),
            at: new Int32Array(entries.length),
            names: entries.map((_, row) => `n${String(row).padStart(3, '0')}`),
          };
          const heap = new NodeHeap(columns);
          const expected = new Set<number>();
          for (let row = 0; row < appended; row += 1) {
            heap.append(row);
            expected.add(row);
          }
          heap.order();
          const inOrder = (): number[] =>
            [...expected].toSorted(
              (a, b) =>
                (columns.scores[b] as number) - (columns.scores[a] as number) ||
                (columns.ties[b] as number) - (columns.ties[a] as number) ||
                a - b,
            );
          for (const { row, score } of steps) {
            expect(heap.has(row)).toBe(expected.has(row));
            if (!expected.has(row)) {
              columns.scores[row] = score;
              heap.insert(row);
              expected.add(row);
            } else if (score < 0) {
              heap.remove(row);
              expected.delete(row);
            } else {
              columns.scores[row] = score;
              heap.rescored(row);
            }
            expect(heap.size).toBe(expected.size);
            if (expected.size > 0) expect(heap.topRow).toBe(inOrder()[0]);
            expect(heap.first(5)).toEqual(inOrder().slice(0, 5));
          }
          expect(heap.first(40)).toEqual(inOrder());
        },
      ),
    );
  });
});
