import { describe, expect, it } from 'vitest';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import { SlotIndex } from './slot-index.js';
import { replicaOf } from './workload.fixture.js';

const shown = (index: SlotIndex): Record<string, string[]> =>
  Object.fromEntries(
    [...index.slotsOf('uid-web')].map(([slot, replicas]) => [
      slot,
      replicas.map(({ metadata, status }) => `${metadata.name} ${status?.stage}`),
    ]),
  );

describe('SlotIndex', () => {
  it('has the replicas of a workload by slot, newest first, as they come, change and go', async () => {
    const objects = new FakeObjects();
    objects.put(replicaOf(0, 'Failed'));
    const index = new SlotIndex(objects);
    index.start(new AbortController().signal);
    objects.put(replicaOf(1, 'Queued'));
    objects.put(replicaOf(0, 'Queued', { incarnation: 2 }));
    expect(shown(index)).toEqual({ 0: ['web-0-2 Queued', 'web-0-1 Failed'], 1: ['web-1-1 Queued'] });
    objects.put(replicaOf(1, 'Bound'));
    await objects.delete('Replica', 't', 'web-0-1', 'uid-web-0-1');
    expect(shown(index)).toEqual({ 0: ['web-0-2 Queued'], 1: ['web-1-1 Bound'] });
    expect([...index.slotsOf('another')]).toEqual([]);
  });
});
