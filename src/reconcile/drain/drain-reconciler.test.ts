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
  for (const index of [onNode, slots]) index.start(new AbortController().signal);
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

/** Four replicas of `web`, of which two may be away; one is lost, each of the others serves on a node that drains. */
function shortOfOne(answer: (operation: string, attempt: number) => ReturnType<Authority['evict']>) {
  const asked: string[] = [];
  const made = controller({
    evict: ({ replica, operation, evidence }) => {
      asked.push(`${replica.name} ${evidence?.['serving']}`);
      return answer(operation, asked.length);
    },
  });
  made.objects.put(workloadOf({ replicas: 4, disruption: { maxUnavailable: 2 } }));
  made.objects.put(replicaOf(0, 'Unknown', boundTo('n0')));
  for (const slot of [1, 2, 3]) {
    made.objects.put(replicaOf(slot, 'Serving', boundTo(`n${slot}`)));
    made.objects.put(nodeOf(`n${slot}`, { drain: {} }));
  }
  return { ...made, asked };
}

describe('[S6] a drain takes a serving replica only while the others can do without it', () => {
  const committed = { kind: 'Committed', result: { stage: 'Releasing' }, revision: '1' } as const;

  it('counts what it has asked for itself, for other nodes and at the same time', async () => {
    const { asked, drain } = shortOfOne(() => Promise.resolve(committed));
    await Promise.all(['n1', 'n2', 'n3'].map((node) => drain.reconcile(node, signal)));
    expect(asked).toEqual(['web-1-1 3 of 4']);
  });

  it('counts what has left although the cache has not been told yet', async () => {
    const { asked, drain, objects } = shortOfOne(() => Promise.resolve(committed));
    for (const node of ['n1', 'n2', 'n3']) await drain.reconcile(node, signal);
    expect(asked).toEqual(['web-1-1 3 of 4']);
    // Its replacement serves: the next one may leave.
    objects.put(replicaOf(1, 'Released', boundTo('n1')));
    objects.put(replicaOf(1, 'Serving', { ...boundTo('n4'), incarnation: 2 }));
    for (const node of ['n2', 'n3']) await drain.reconcile(node, signal);
    expect(asked).toEqual(['web-1-1 3 of 4', 'web-2-1 3 of 4']);
  });

  it('counts one whose outcome it does not know as gone, and asks for that one again', async () => {
    const { asked, drain } = shortOfOne((_, attempt) =>
      Promise.resolve(attempt === 1 ? { kind: 'UnknownOutcome', message: 'no answer' } : committed),
    );
    for (const node of ['n1', 'n2', 'n1', 'n3']) await drain.reconcile(node, signal);
    expect(asked).toEqual(['web-1-1 3 of 4', 'web-1-1 2 of 4']);
  });

  it('counts one that was refused as staying', async () => {
    const refused = { kind: 'Rejected', reason: 'DisruptionLimit', message: 'later', revision: '1' } as const;
    const { asked, drain } = shortOfOne((_, attempt) => Promise.resolve(attempt === 1 ? refused : committed));
    for (const node of ['n1', 'n2', 'n3']) await drain.reconcile(node, signal);
    expect(asked).toEqual(['web-1-1 3 of 4', 'web-2-1 3 of 4']);
  });
});
