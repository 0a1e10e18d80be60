import { describe, expect, it } from 'vitest';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import { SlotIndex } from './slot-index.js';
import { replicaOf } from './workload.fixture.js';

const shown = (index: SlotIndex): Record<string, string[]> =>
  Object.fromEntries(
    [...index.slotsOf('t/web', 'uid-web')].map(([slot, { newest, older }]) => [
      slot,
      [newest, ...older].map(({ metadata, status }) => `${metadata.name} ${status?.stage}`),
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
    expect([...index.slotsOf('t/web', 'another')]).toEqual([]);
    expect([...index.workloadKeys]).toEqual(['t/web']);
  });

  it('[L7] tells who says it is of a workload and belongs to another one, or to nobody', () => {
    const objects = new FakeObjects();
    const index = new SlotIndex(objects);
    index.start(new AbortController().signal);
    const names = (uid: string | undefined): string[] =>
      [...index.strangersOf('t/web', uid)].map(({ metadata }) => metadata.name);
    objects.put(replicaOf(0, 'Bound'));
    expect([names('uid-web'), names('uid-next'), names(undefined)]).toEqual([[], ['web-0-1'], ['web-0-1']]);
    // Deleted with orphaning, its owner is taken from it.
    const { ownerReferences: _, ...metadata } = replicaOf(0, 'Bound').metadata;
    objects.put({ ...replicaOf(0, 'Bound'), metadata });
    expect([names('uid-web'), [...index.slotsOf('t/web', 'uid-web')]]).toEqual([['web-0-1'], []]);
  });

  it('[L7] knows which revisions are referred to, until the last replica of one is gone', async () => {
    const objects = new FakeObjects();
    const index = new SlotIndex(objects);
    index.start(new AbortController().signal);
    for (const slot of [0, 1]) objects.put(replicaOf(slot, 'Bound', { revision: 'web-a' }));
    objects.put(replicaOf(1, 'Ready', { revision: 'web-a' }));
    await objects.delete('Replica', 't', 'web-0-1', 'uid-web-0-1');
    expect([index.isReferredTo('t/web', 'web-a'), index.isReferredTo('t/web', 'web-b')]).toEqual([
      true,
      false,
    ]);
    await objects.delete('Replica', 't', 'web-1-1', 'uid-web-1-1');
    expect(index.isReferredTo('t/web', 'web-a')).toBe(false);
  });

  it('[L7] knows the revision of one that came in place of another of its name, told as one change', () => {
    const objects = new FakeObjects();
    const index = new SlotIndex(objects);
    index.start(new AbortController().signal);
    objects.put(replicaOf(0, 'Released', { revision: 'web-a' }));
    const again = replicaOf(0, 'Queued', { revision: 'web-b' });
    objects.put({ ...again, metadata: { ...again.metadata, uid: 'another' } });
    const isReferredTo = (revision: string): boolean => index.isReferredTo('t/web', revision);
    expect([isReferredTo('web-a'), isReferredTo('web-b')]).toEqual([false, true]);
  });

  it('is kept for as long as one of those that started it goes on', () => {
    const objects = new FakeObjects();
    const index = new SlotIndex(objects);
    const [one, other] = [new AbortController(), new AbortController()];
    index.start(one.signal);
    index.start(other.signal);
    objects.put(replicaOf(0, 'Queued'));
    one.abort();
    objects.put(replicaOf(0, 'Bound'));
    expect(shown(index)).toEqual({ 0: ['web-0-1 Bound'] });
    other.abort();
    expect(shown(index)).toEqual({});
    objects.put(replicaOf(1, 'Queued'));
    index.start(new AbortController().signal);
    expect(shown(index)).toEqual({ 0: ['web-0-1 Bound'], 1: ['web-1-1 Queued'] });
  });
});
