import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startRivalRepairer } from '../world/rival-repairer.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

/** Agents silent for longer than the fence window: what may run only once is given away only after it has stopped. */
export const fence: Scenario = {
  name: 'fence',
  about:
    'agents are silent for longer than a lease and than a fence: work that may run only once moves, and never overlaps',
  chaosMs: 330_000,
  settleMs: 120_000,
  plan: (usual, seed) => ({
    rates: { 'network.replyLost': usual.rates['network.replyLost'] ?? 0, 'store.replyLost': 0.01 },
    // Agents come after the two servers: one of them is gone for longer than the window, others for a while.
    events: [
      {
        kind: 'crash',
        atMs: 20_000 + (seed % 5) * 1_000,
        forMs: 150_000 + (seed % 4) * 20_000,
        target: 2 + (seed % 3),
        other: 0,
      },
      { kind: 'crash', atMs: 215_000, forMs: 30_000, target: 2 + ((seed + 2) % 3), other: 0 },
    ],
  }),
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [
        node('n1', '2'),
        node('n2', '2', { zone: 'b' }),
        node('n3', '2'),
        node('n4', '2', { isUnfenced: true }),
      ],
      wishes: [
        ...basics('risk'),
        service('risk', 'once', 2, { cpu: '1' }, {}, { execution: 'AtMostOne' }),
        service('risk', 'anew', 2, { cpu: '500m' }),
        service('risk', 'again', 2, { cpu: '1' }, { onNodeLost: { action: 'Wait' } }),
      ],
      rivals: [{ carelessness: 0.1 }],
      isCareless: true,
      detects: true,
    });
    startRivalRepairer(world);
    // One that lives on, cut off from every server for longer than the window: it comes back under an epoch that is over.
    const alone = `agent-n${1 + ((world.options.seed + 1) % 3)}`;
    world.wire.after(80_000, () => silence(world, alone, servers, 150_000));
    return () => {
      const live = liveReplicasOf(world, 'once');
      return unlessSo([
        live.length === 2,
        `wanted 2 replicas that run once; there are ${shownReplicas(live)}`,
      ]);
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
  mustOccur: ['crash', 'partition'],
  mustRefuse: ['remark.actor', 'gate.actor', 'gate.node', 'renew.lease'],
};
