import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { ObjectIndex } from '../../model/object-index.js';
import type { Authority } from '../../model/ports.js';
import { nodeItMayRunOn } from '../repair/repair-keys.js';
import { SlotIndex } from '../workload/slot-index.js';
import { boundTo, nodeOf, replicaOf } from '../workload/workload.fixture.js';
import { DrainReconciler } from './drain-reconciler.js';

describe('a drain', () => {
  it('is not complete while what was bound just before it has not come to the index by node', async () => {
    const { env } = new VirtualTime({ seed: 1 }).machine('server');
    const objects = new FakeObjects();
    const { signal } = new AbortController();
    const onNode = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
    const slots = new SlotIndex(objects);
    for (const index of [onNode, slots]) index.start(signal);
    const acting = {
      ...{ objects, env, authority: {} as Authority, report: () => undefined, giveUp: () => undefined },
      actor: { kind: 'drain', name: 'test' } as const,
    };
    const drain = new DrainReconciler({ acting, onNode, slots });
    const state = (): string | undefined => objects.get<Node>('Node', undefined, 'n1')?.status?.drain?.state;
    // The cache has both; whoever follows it has not been told yet.
    objects.putUnseen(replicaOf(0, 'Releasing', boundTo('n1')));
    const node = nodeOf('n1', { drain: {} });
    objects.putUnseen({ ...node, metadata: { ...node.metadata, resourceVersion: objects.version } });
    expect(await drain.reconcile('n1', signal)).toMatchObject({ kind: 'after' });
    expect(state()).toBeUndefined();
    objects.gap();
    await drain.reconcile('n1', signal);
    expect(state()).toBe('Draining');
  });
});
