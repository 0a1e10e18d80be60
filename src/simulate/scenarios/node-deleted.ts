import type { Node } from '../../model/kinds/node.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

// Whoever put it there wants to see to something before the node is gone.
const finalizer = 'example.com/decommission';

/** A node that is deleted: what it had leaves, it is given nothing new, and then it goes with all that was kept of it. */
export const nodeDeleted: Scenario = {
  name: 'node-deleted',
  about:
    'node-a is deleted while schedulers that have not heard of it still choose it: it gets nothing new, is emptied and goes; its agent makes it anew',
  chaosMs: 40_000,
  settleMs: 120_000,
  begin: (world) => {
    const { user } = startSmallCell(world, {
      nodes: [node('node-a', '4'), node('node-b', '8', { zone: 'b' })],
      wishes: [...basics('jobs'), service('jobs', 'web', 4, { cpu: '1' })],
      rivals: [{ carelessness: 0.5, reserves: true }],
      exits: 0.02,
      detects: true,
    });
    let first: string | undefined;
    let isSeenTo = false;
    const remove = (): void => {
      const objects = world.reaches.get(user)?.objects;
      const live = objects?.get<Node>('Node', undefined, 'node-a');
      world.wire.after(500, remove);
      if (objects === undefined || live === undefined) return;
      const { uid, deletionTimestamp, finalizers = [] } = live.metadata;
      first ??= uid;
      if (first !== uid) return;
      const others = finalizers.filter((one) => one !== finalizer);
      const keep = (kept: readonly string[]) =>
        objects.modify<Node>('Node', undefined, 'node-a', 'spec', ({ metadata, ...rest }) => ({
          ...rest,
          metadata: { ...metadata, finalizers: [...kept] },
        }));
      if (deletionTimestamp === undefined)
        keep([...others, finalizer])
          .then(() => objects.delete('Node', undefined, 'node-a', uid))
          .catch(() => undefined);
      else if (isSeenTo && finalizers.includes(finalizer)) keep(others).catch(() => undefined);
    };
    world.wire.after(2_000 + world.time.random.integer(6_000), remove);
    world.wire.after(30_000, () => {
      isSeenTo = true;
    });
    return () => {
      const live = liveReplicasOf(world, 'web');
      const stored = world.history.get('/o/Node/_/node-a') as Pick<Node, 'metadata'> | undefined;
      return unlessSo(
        [first !== undefined && stored?.metadata.uid !== first, 'the node-a that was deleted is still there'],
        [stored !== undefined, 'the agent of node-a did not make it anew'],
        [live.length === 4, `wanted 4 replicas; there are ${shownReplicas(live)}`],
      );
    };
  },
  mustCheck: ['S2', 'S4', 'S5', 'S7', 'L1', 'L4'],
  mustRefuse: ['removeNode.actor'],
  mustOccur: ['crash', 'network.replyLost', 'store.replyLost'],
};
