import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startLosingNode, startMachineNode } from '../world/machine-node.js';
import { startRivalRepairer } from '../world/rival-repairer.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const lostAtMs = 60_000;

/** [S5] What a machine knows of its work is lost, and it, or another one, goes on under its name while that work runs. */
export const lostDirectory: Scenario = {
  name: 'lost-directory',
  about:
    'a node registers again without its journal while what it ran still runs: that it knows of nothing proves nothing',
  chaosMs: lostAtMs + 160_000,
  settleMs: 200_000,
  plan: (usual, seed) => ({
    rates: { 'network.requestLost': 0.01, 'network.replyLost': usual.rates['network.replyLost'] ?? 0 },
    // One of the two servers, which are the first of all processes: who leads next counts anew.
    events: [
      { kind: 'crash', atMs: lostAtMs + (seed % 100) * 1_000, forMs: 20_000, target: seed % 2, other: 0 },
    ],
  }),
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [],
      wishes: [...basics('risk'), service('risk', 'once', 3, { cpu: '1' }, {}, { execution: 'AtMostOne' })],
      detects: true,
    });
    // At least one of the three runs there: the other has not room for all.
    const loses = startLosingNode(world, servers, node('n1', '2'));
    startMachineNode(world, servers, node('n2', '2', { zone: 'b' }));
    startRivalRepairer(world);
    const problems: string[] = [];
    world.wire.after(lostAtMs, () => {
      if (loses.fencedRuns() === 0) problems.push('nothing runs where the journal is lost');
      loses.lose();
    });
    return () => {
      const live = liveReplicasOf(world, 'once');
      return [
        ...problems,
        ...unlessSo([live.length === 3, `wanted 3 that run once; there are ${shownReplicas(live)}`]),
      ];
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1'],
  mustOccur: ['crash'],
  mustRefuse: ['release.journal'],
};
