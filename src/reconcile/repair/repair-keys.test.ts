import { describe, expect, it } from 'vitest';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { BerthObject } from '../../model/object.js';
import { ObjectIndex } from '../../model/object-index.js';
import { boundTo, replicaOf } from '../workload/workload.fixture.js';
import { allRepairKeys, nodeItMayRunOn, onlyStarts, repairKeysOf } from './repair-keys.js';

const seen = {
  isHeard: (node: string) => node !== 'silent',
  journalSince: (node: string) => ({ cell: 1, number: node === 'another' ? 9 : 1 }),
};

describe('[L5] what repair looks at from time to time', () => {
  it('is all on nodes that are silent, and on others what has a deadline: what runs there keeps nobody waiting', () => {
    const objects = new FakeObjects();
    const stages = ['Bound', 'Starting', 'Ready', 'Serving', 'Releasing', 'Unknown', 'Released'] as const;
    for (const [slot, stage] of stages.entries()) {
      objects.put(replicaOf(slot, stage, boundTo('well')));
      objects.put(replicaOf(slot + 10, stage, boundTo('silent')));
    }
    const index = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
    index.fill();
    const keys = [...allRepairKeys(index, seen)];
    const slots = keys.map((key) => Number(key.split('-')[1])).toSorted((a, b) => a - b);
    expect(slots).toEqual([...[0, 1, 4, 5], ...[10, 11, 12, 13, 14, 15]]);
  });

  it('[S5] is also what runs, as far as is known, on a node that has another journal by now', () => {
    const objects = new FakeObjects();
    objects.put(replicaOf(0, 'Serving', boundTo('another')));
    const said = { ...boundTo('another').binding, knownSince: { cell: 1, number: 9 } };
    objects.put(replicaOf(1, 'Serving', { binding: said }));
    const index = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
    index.fill();
    expect([...allRepairKeys(index, seen)]).toEqual(['t/web-0-1']);
  });
});

describe('[L9] what wakes repair', () => {
  const objects = new FakeObjects();
  objects.put(replicaOf(0, 'Serving', boundTo('well')));
  objects.put(replicaOf(1, 'Unknown', boundTo('silent')));
  const index = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
  index.fill();
  const woken = (kind: string, object: object, before: object): readonly string[] => [
    ...repairKeysOf(index, seen, {
      ...{ type: 'MODIFIED', kind, version: 1, object: object as BerthObject, before: before as BerthObject },
    }),
  ];
  const at = (stage: 'Bound' | 'Starting' | 'Ready' | 'Unknown', node: string, status: object = {}): object =>
    replicaOf(0, stage, { ...boundTo(node), ...status });
  const own = 't/web-0-1';

  it('is another stage, unless it runs where somebody is heard of', () => {
    expect(woken('Replica', at('Starting', 'well'), at('Bound', 'well'))).toEqual([own]);
    expect(woken('Replica', at('Ready', 'well'), at('Starting', 'well'))).toEqual([]);
    expect(woken('Replica', at('Ready', 'silent'), at('Starting', 'silent'))).toEqual([own]);
    expect(woken('Replica', at('Unknown', 'well'), at('Ready', 'well'))).toEqual([own]);
  });

  it('is its deadline alone, once it starts where somebody is heard of who knows of it', () => {
    const starts = (object: object, before?: object): boolean =>
      onlyStarts(seen, {
        ...{ type: 'MODIFIED', kind: 'Replica', version: 1, object: object as BerthObject },
        before: before as BerthObject | undefined,
      });
    const queued = replicaOf(0, 'Queued');
    expect(starts(at('Bound', 'well'), queued)).toBe(true);
    expect(starts(at('Starting', 'well'), at('Bound', 'well'))).toBe(true);
    expect(starts(at('Bound', 'silent'), queued)).toBe(false);
    expect(starts(at('Bound', 'another'), queued)).toBe(false);
    // What was looked at before, or was never seen to come, is looked at.
    expect(starts(at('Starting', 'well'), at('Unknown', 'well'))).toBe(false);
    expect(starts(at('Bound', 'well'), at('Bound', 'well'))).toBe(false);
    expect(starts(at('Bound', 'well'))).toBe(false);
    expect(starts(at('Ready', 'well'), at('Bound', 'well'))).toBe(false);
    expect(starts(at('Starting', 'well', { intent: { operation: 'stop' } }), at('Bound', 'well'))).toBe(
      false,
    );
  });

  it('is that another has its slot, and not what repair said itself', () => {
    const said = (type: string): object => ({ conditions: [{ type, status: 'True' }] });
    const lost = at('Unknown', 'silent');
    expect(woken('Replica', at('Unknown', 'silent', said('Replaceable')), lost)).toEqual([]);
    expect(woken('Replica', at('Unknown', 'silent', said('Superseded')), lost)).toEqual([own]);
  });

  it('is a verdict on a node that decides something about what runs there', () => {
    const node = (name: string, reachability: string): object =>
      objectOf('Node', undefined, name, { status: { reachability } });
    expect(woken('Node', node('well', 'Suspect'), node('well', 'Fresh'))).toEqual([]);
    expect(woken('Node', node('well', 'Unknown'), node('well', 'Suspect'))).toEqual([own]);
    expect(woken('Node', node('silent', 'Fresh'), node('silent', 'Lost'))).toHaveLength(1);
    expect(woken('Node', node('well', 'Unknown'), node('well', 'Unknown'))).toEqual([]);
  });

  it('[S5] is another journal of a node', () => {
    const node = (number: number): object =>
      objectOf('Node', undefined, 'well', {
        status: { reachability: 'Fresh', journalSince: { cell: 1, number } },
      });
    expect(woken('Node', node(2), node(2))).toEqual([]);
    expect(woken('Node', node(2), node(1))).toEqual([own]);
  });
});
