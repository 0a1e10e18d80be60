import type { Node } from '../../model/kinds/node.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startRivalRepairer } from '../world/rival-repairer.js';
import { startSessionNode } from '../world/session-node.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

/** The real agent and the real detector, beside an agent that is careless: streams are cut, reset and resumed. */
export const nodeSessions: Scenario = {
  name: 'node-sessions',
  about:
    'real node sessions over streams that are cut and reset, agents and servers that crash, and the real detector',
  chaosMs: 240_000,
  settleMs: 150_000,
  plan: (usual, seed) => ({
    rates: {
      'network.requestLost': 0.02,
      'network.replyLost': usual.rates['network.replyLost'] ?? 0,
      'store.replyLost': 0.01,
    },
    events: [
      // In the order in which processes are added: two servers, the careless agent, a rival, the user, the sessions.
      { kind: 'crash', atMs: 15_000 + (seed % 7) * 1_000, forMs: 20_000, target: seed % 2, other: 0 },
      { kind: 'crash', atMs: 40_000, forMs: 150_000, target: 5 + (seed % 3), other: 0 },
      { kind: 'crash', atMs: 60_000, forMs: 5_000, target: 5 + ((seed + 1) % 3), other: 0 },
      { kind: 'pause', atMs: 90_000, forMs: 25_000, target: 5 + ((seed + 1) % 3), other: 0 },
    ],
  }),
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [node('n1', '2')],
      wishes: [
        ...basics('risk'),
        service('risk', 'once', 2, { cpu: '1' }, {}, { execution: 'AtMostOne' }),
        service('risk', 'anew', 3, { cpu: '500m' }),
      ],
      rivals: [{ carelessness: 0.1 }],
      isCareless: true,
      detects: true,
    });
    for (const name of ['n2', 'n3', 'n4']) startSessionNode(world, servers, node(name, '2', { zone: 'b' }));
    startRivalRepairer(world);
    // One that lives on, cut off from every server for longer than the fence window.
    const alone = `agent-n${2 + ((world.options.seed + 2) % 3)}`;
    world.wire.after(70_000, () => silence(world, alone, servers, 145_000));
    const wasClosed = new Set<string>();
    const look = (): void => {
      for (const name of ['n2', 'n3', 'n4'])
        if (gateOf(world.history.get(`/s/Node/_/${name}`)) === 'Closed') wasClosed.add(name);
      world.wire.after(1_000, look);
    };
    world.wire.after(1_000, look);
    return () => {
      const once = liveReplicasOf(world, 'once');
      const anew = liveReplicasOf(world, 'anew');
      const gates = ['n1', 'n2', 'n3', 'n4'].filter(
        (name) => gateOf(world.history.get(`/s/Node/_/${name}`)) !== 'Open',
      );
      return [
        ...unlessSo([once.length === 2, `wanted 2 that run once; there are ${shownReplicas(once)}`]),
        ...unlessSo([anew.length === 3, `wanted 3 that run anew; there are ${shownReplicas(anew)}`]),
        ...unlessSo([gates.length === 0, `the gates of ${gates.join(', ')} are closed, and all is calm`]),
        ...unlessSo([wasClosed.size >= 2, 'nodes were silent, and no gate was closed']),
      ];
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
  mustOccur: ['crash', 'pause', 'partition', 'network.requestLost'],
};

const gateOf = (status: unknown): string | undefined =>
  (status as { readonly status?: Node['status'] } | undefined)?.status?.gate?.state;
