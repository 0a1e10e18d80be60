import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { ObjectIndex } from '../../model/object-index.js';
import type { Authority } from '../../model/ports.js';
import { nodeItMayRunOn } from '../repair/repair-keys.js';
import { done } from '../runtime/requeue.js';
import { SlotIndex } from '../workload/slot-index.js';
import { boundTo, nodeOf, replicaOf, workloadOf } from '../workload/workload.fixture.js';
import { drainKeysOf, DrainReconciler } from './drain-reconciler.js';

const { signal } = new AbortController();

/** A controller of drains in a cell of which nothing is known yet. */
function controller(authority: Partial<Authority> = {}) {
  const { env } = new VirtualTime({ seed: 1 }).machine('server');
  const objects = new FakeObjects();
  const onNode = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
  const slots = new SlotIndex(objects);
  for (const index of [onNode, slots]) index.start(signal);
  const acting = {
    ...{ objects, env, authority: authority as Authority, report: () => undefined, giveUp: () => undefined },
    actor: { kind: 'drain', name: 'test' } as const,
  };
  const status = () => objects.get<Node>('Node', undefined, 'n1')?.status?.drain;
  return { objects, status, drain: new DrainReconciler({ acting, onNode, slots }) };
}

describe('a drain', () => {
  it('[L5] of a node that is being deleted needs nobody to ask for it', async () => {
    const evicted: string[] = [];
    const { objects, status, drain } = controller({
      evict: ({ replica }) => {
        evicted.push(replica.name);
        return Promise.resolve({ kind: 'Committed', result: { stage: 'Releasing' }, revision: '1' });
      },
    });
    const replica = replicaOf(0, 'Serving', boundTo('n1'));
    objects.put(replica);
    const node = nodeOf('n1');
    objects.put(node);
    await drain.reconcile('n1', signal);
    expect([evicted, status()]).toEqual([[], undefined]);
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const before = objects.get<Node>('Node', undefined, 'n1');
    objects.put({ ...node, metadata: { ...node.metadata, deletionTimestamp } });
    const object = objects.get<Node>('Node', undefined, 'n1') as Node;
    expect(drainKeysOf(objects, { type: 'MODIFIED', kind: 'Node', version: 2, object, before })).toEqual([
      'n1',
    ]);
    await drain.reconcile('n1', signal);
    expect([evicted, status()?.state]).toEqual([[replica.metadata.name], 'Draining']);
  });

  it('is not complete while what was bound just before it has not come to the index by node', async () => {
    const { objects, status, drain } = controller();
    // The cache has both; whoever follows it has not been told yet.
    objects.putUnseen(replicaOf(0, 'Releasing', boundTo('n1')));
    const node = nodeOf('n1', { drain: {} });
    objects.putUnseen({ ...node, metadata: { ...node.metadata, resourceVersion: objects.version } });
    expect(await drain.reconcile('n1', signal)).toMatchObject({ kind: 'after' });
    expect(status()).toBeUndefined();
    objects.gap();
    await drain.reconcile('n1', signal);
    expect(status()?.state).toBe('Draining');
  });

  it('counts all that have left and were replaced, although its status has no room for all of them', async () => {
    const { objects, status, drain } = controller();
    const many = Array.from({ length: 1_200 }, (_, slot) => slot);
    objects.put(workloadOf({ replicas: many.length }));
    for (const slot of many) objects.put(replicaOf(slot, 'Releasing', boundTo('n1')));
    objects.put(nodeOf('n1', { drain: {} }));
    await drain.reconcile('n1', signal);
    for (const slot of many) objects.put(replicaOf(slot, 'Released', boundTo('n1')));
    await drain.reconcile('n1', signal);
    expect(status()).toMatchObject({ state: 'Complete', released: 1_200, replaced: 0 });
    for (const slot of many) objects.put(replicaOf(slot, 'Serving', { ...boundTo('n2'), incarnation: 2 }));
    expect(await drain.reconcile('n1', signal)).toEqual(done);
    expect(status()).toMatchObject({ state: 'Complete', released: 1_200, replaced: 1_200 });
  });
});
