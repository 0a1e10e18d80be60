import { describe, expect, it } from 'vitest';
import { type Candidate, CandidateOrder } from './candidate-order.js';
import { occupiedNode } from './plain-cell.fixture.js';

const candidate = (name: string, rank: number, evictions: number): Candidate => ({
  node: occupiedNode(name),
  rank,
  evictions,
});
const names = (order: CandidateOrder): string[] => [...order.inOrder()].map(({ node }) => node.name);

describe('the order of candidates', () => {
  it('is the lowest rank, then the fewest evictions, then the tie', () => {
    const order = new CandidateOrder();
    const given = [
      candidate('n5', 1, 1),
      candidate('n1', 2, 1),
      candidate('n4', 1, 1),
      candidate('n2', 1, 3),
      candidate('n3', 0, 9),
    ];
    for (const one of given) order.add(one);
    expect(names(order)).toEqual(['n3', 'n4', 'n5', 'n2', 'n1']);
  });

  it('keeps in order when one is replaced, whether somebody has looked or not', () => {
    for (const hasLooked of [true, false]) {
      const order = new CandidateOrder();
      const first = candidate('n1', 0, 1);
      for (const one of [candidate('n7', 1, 1), first, candidate('n3', 1, 1)]) order.add(one);
      if (hasLooked) names(order);
      const again = candidate('n1', 1, 1);
      order.replace(first, again);
      expect(names(order)).toEqual(['n1', 'n3', 'n7']);
      order.replace(again, candidate('n5', 1, 1));
      expect(names(order)).toEqual(['n3', 'n5', 'n7']);
      order.replace(first, undefined);
      expect(names(order)).toHaveLength(3);
    }
  });
});
