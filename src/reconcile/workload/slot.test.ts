import { describe, expect, it } from 'vitest';
import { ChangingSlot } from './slot.js';
import { boundTo, replicaOf } from './workload.fixture.js';

const namesIn = ({ newest, older }: ChangingSlot): string[] =>
  [newest, ...older].map(({ metadata }) => metadata.name);

describe('a slot', () => {
  it.each([
    ['0', 0],
    ['4999', 4_999],
    ['007', NaN],
    ['1.5', NaN],
    ['-1', NaN],
    ['node-1', NaN],
  ])('%s has the number %d', (name, number) => {
    expect(new ChangingSlot(replicaOf(name, 'Queued')).number).toBe(number);
  });

  it('has the newest first, whatever the order in which they come and go', () => {
    const failed = (incarnation: number) => replicaOf(0, 'Failed', { incarnation });
    const [one, two, three] = [failed(1), failed(2), failed(3)];
    const slot = new ChangingSlot(two);
    slot.add(one);
    slot.add(three);
    expect(namesIn(slot)).toEqual(['web-0-3', 'web-0-2', 'web-0-1']);
    slot.remove(three);
    slot.remove(one);
    expect(namesIn(slot)).toEqual(['web-0-2']);
    expect([slot.has(two), slot.has(one), slot.replace(one)]).toEqual([true, false, false]);
  });

  it('has the facts of what is newest now, and shares those of a neighbour that is alike', () => {
    const slot = new ChangingSlot(replicaOf(0, 'Queued'));
    const queued = slot.facts();
    expect(slot.facts()).toBe(queued);
    expect(new ChangingSlot(replicaOf(1, 'Queued')).facts(queued)).toBe(queued);
    slot.replace(replicaOf(0, 'Bound', boundTo('n1')));
    const bound = slot.facts(queued);
    expect(bound).toMatchObject({ stage: 'Bound', isCalm: true, waits: { nextMove: 'agent:n1' } });
    expect(new ChangingSlot(replicaOf(1, 'Bound', boundTo('n2'))).facts(bound)).not.toBe(bound);
    slot.add(replicaOf(0, 'Unknown', { incarnation: 2 }));
    expect(slot.facts()).toMatchObject({ stage: 'Unknown', isCalm: false });
    slot.remove(replicaOf(0, 'Unknown', { incarnation: 2 }));
    expect(slot.facts()).toEqual(bound);
  });
});
