import type { Node } from '../../model/kinds/node.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

// Whoever put it there wants to see to something before the node is gone.
const finalizer = 'example.com/decommission';

/** A node that is being deleted, and still there: what it had runs on, and it is given nothing new. */
export const nodeDeleted: Scenario = {
  name: 'node-deleted',
  about:
    'node-a is being deleted while schedulers that have not heard of it still choose it: it gets nothing new',
  chaosMs: 40_000,
  settleMs: 120_000,
  begin: (world) => {
    const { user } = startSmallCell(world, {
      nodes: [node('node-a', '4'), node('node-b', '8', { zone: 'b' })],
      wishes: [...basics('jobs'), service('jobs', 'web', 4, { cpu: '1' })],
      rivals: [{ carelessness: 0.5, reserves: true }],
      exits: 0.02,
    });
    const remove = (): void => {
      const objects = world.reaches.get(user)?.objects;
      const live = objects?.get<Node>('Node', undefined, 'node-a');
      if (objects !== undefined && live !== undefined && live.metadata.deletionTimestamp === undefined)
        objects
          .modify<Node>('Node', undefined, 'node-a', 'spec', ({ metadata, ...rest }) => ({
            ...rest,
            metadata: { ...metadata, finalizers: [finalizer] },
          }))
          .then(() => objects.delete('Node', undefined, 'node-a', live.metadata.uid))
          .catch(() => undefined);
      world.wire.after(500, remove);
    };
    world.wire.after(2_000 + world.time.random.integer(6_000), remove);
    return () => {
      const live = liveReplicasOf(world, 'web');
      const stored = world.history.get('/o/Node/_/node-a') as Pick<Node, 'metadata'> | undefined;
      return unlessSo(
        [stored?.metadata.deletionTimestamp !== undefined, 'node-a is not being deleted'],
        [live.length === 4, `wanted 4 replicas; there are ${shownReplicas(live)}`],
      );
    };
  },
  mustCheck: ['S2', 'S4', 'S5', 'S7', 'L1', 'L4'],
  mustOccur: ['crash', 'network.replyLost', 'store.replyLost'],
};
