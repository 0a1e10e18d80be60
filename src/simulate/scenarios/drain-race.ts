import type { Node } from '../../model/kinds/node.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

/** Binds in flight when a drain begins: rejected, or accepted and then drained; never accepted and stranded. */
export const drainRace: Scenario = {
  name: '002-drain-race',
  about:
    'node-a reports 8 free CPUs, a drain starts, job-17 is bound there by a scheduler that has not heard of it',
  chaosMs: 30_000,
  settleMs: 120_000,
  begin: (world) => {
    const { user } = startSmallCell(world, {
      nodes: [node('node-a', '8'), node('node-b', '2', { zone: 'b' })],
      wishes: [...basics('jobs'), service('jobs', 'job-17', 2, { cpu: '1' })],
      // Sometimes without a look at the node: as if its report were the only thing it had ever heard of it.
      rivals: [{ carelessness: 0.5 }],
    });
    const drain = (): void => {
      const objects = world.reaches.get(user)?.objects;
      const isDraining = objects?.get<Node>('Node', undefined, 'node-a')?.spec.drain !== undefined;
      if (!isDraining)
        objects
          ?.modify<Node>('Node', undefined, 'node-a', 'spec', (live) => ({
            ...live,
            spec: { ...live.spec, drain: { reason: 'maintenance' } },
          }))
          .catch(() => undefined);
      // The user's restlessness puts nodes back at the end; this one keeps draining.
      world.wire.after(500, drain);
    };
    world.wire.after(2_000 + world.time.random.integer(6_000), drain);
    return () => {
      const live = liveReplicasOf(world, 'job-17');
      const stranded = live.filter(({ status }) => status?.binding?.node === 'node-a');
      const stored = world.history.get('/s/Node/_/node-a') as
        | { readonly status?: Node['status'] }
        | undefined;
      const drained = stored?.status?.drain;
      return unlessSo(
        [drained?.state === 'Complete', `node-a is not drained: ${JSON.stringify(drained)}`],
        [stranded.length === 0, `stranded on a node that drains: ${shownReplicas(stranded)}`],
        [live.length === 2, `wanted 2 replicas; there are ${shownReplicas(live)}`],
        [replicasOf(world, 'job-17').length > 0, 'nothing was ever placed'],
      );
    };
  },
  mustCheck: ['S2', 'S4', 'S5', 'S7', 'L1', 'L4'],
  mustOccur: ['crash', 'network.replyLost', 'store.replyLost'],
};
