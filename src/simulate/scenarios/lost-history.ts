import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { Scenario } from '../scenario.js';

const everyMs = 15_000;

/** A server cannot take in what it missed: it knows only what is there now, and tells every watcher so. */
export const lostHistory: Scenario = {
  name: 'lost-history',
  about:
    'each server is cut off from the store in turn, and what it missed is compacted meanwhile: its watchers list again, its controllers go on',
  chaosMs: 62_000,
  settleMs: 120_000,
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [node('node-a', '8'), node('node-b', '8', { zone: 'b' })],
      wishes: [...basics('shop'), service('shop', 'web', 6, { cpu: '1' })],
      // Replicas fail and are replaced all the time: there is always something that a server misses.
      exits: 0.05,
    });
    for (let turn = 0; turn < 4; turn++)
      world.wire.after(2_000 + turn * everyMs, () => {
        const [server] = servers.slice(turn % 2);
        if (server !== undefined)
          world.cutFromStore(3_000 + world.time.random.integer(9_000), [server], true);
      });
    return () => {
      const live = liveReplicasOf(world, 'web');
      return unlessSo([live.length === 6, `wanted 6 replicas; there are ${shownReplicas(live)}`]);
    };
  },
  plan: ({ rates }) => ({ rates, events: [] }),
  mustCheck: ['S5', 'S7', 'S11', 'S12', 'L1', 'L4'],
  mustOccur: ['storeCut', 'historyLost'],
};
