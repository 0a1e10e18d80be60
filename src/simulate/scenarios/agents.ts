import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startMachineNode } from '../world/machine-node.js';
import { cutDown, cutUp, oneWayMs } from '../world/one-way-cuts.js';
import { startRivalRepairer } from '../world/rival-repairer.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const names = ['n1', 'n2', 'n3'] as const;
// By then all that failed before is back.
const oneWayAtMs = 290_000;

/** The real agent and the real supervisor on simulated machines, which fail in every way that §8 has to bear. */
export const agents: Scenario = {
  name: 'agents',
  about:
    'real agents and supervisors on machines that crash, stand still, are suspended, drift, are cut off, one way or both, and are started again',
  chaosMs: oneWayAtMs + oneWayMs,
  settleMs: 200_000,
  plan: (usual, seed) => ({
    rates: { 'network.requestLost': 0.01, 'network.replyLost': usual.rates['network.replyLost'] ?? 0 },
    events: [
      // In the order in which processes are added: two servers, the user, then supervisor and agent of each machine.
      {
        kind: 'crash',
        atMs: 25_000 + (seed % 5) * 1_000,
        forMs: 4_000,
        target: 3 + 2 * (seed % 3),
        other: 0,
      },
      { kind: 'crash', atMs: 40_000, forMs: 150_000, target: 4 + 2 * ((seed + 1) % 3), other: 0 },
      { kind: 'pause', atMs: 50_000, forMs: 140_000, target: 4 + 2 * ((seed + 2) % 3), other: 0 },
      { kind: 'crash', atMs: 60_000 + (seed % 7) * 1_000, forMs: 20_000, target: seed % 2, other: 0 },
      { kind: 'drift', atMs: 160_000, forMs: 1_500, target: 3 + 2 * ((seed + 1) % 3), other: 0 },
      { kind: 'crash', atMs: 220_000, forMs: 3_000, target: 3 + 2 * ((seed + 2) % 3), other: 0 },
    ],
  }),
  begin: (world) => {
    const { seed } = world.options;
    const { servers } = startSmallCell(world, {
      nodes: [],
      wishes: [
        ...basics('risk'),
        service('risk', 'once', 2, { cpu: '1' }, {}, { execution: 'AtMostOne' }),
        service('risk', 'anew', 3, { cpu: '500m' }),
      ],
      detects: true,
    });
    const machines = names.map((name, index) =>
      startMachineNode(world, servers, node(name, '3', { zone: index === 0 ? 'a' : 'b' })),
    );
    startRivalRepairer(world);
    // Suspended for a good part of a permit, then cut off: what was slept through counts.
    const sleeper = machines[seed % 3];
    const alone = `agent-${names[seed % 3]}`;
    world.wire.after(90_000, () => {
      sleeper?.suspend(60_000);
      silence(world, alone, servers, 150_000);
    });
    world.wire.after(180_000 + (seed % 10) * 1_000, () => {
      world.faults.count('crash');
      machines[(seed + 1) % 3]?.reboot();
    });
    // Then one way only, of machines that run what may run only once: of one the way up, of another the way down.
    const cuts: (readonly string[])[] = [];
    world.wire.after(oneWayAtMs, () => {
      const cutsOfSeed = seed % 2 === 0 ? [cutDown, cutUp] : [cutUp, cutDown];
      for (const [index, name] of names.entries()) {
        const machine = machines[index];
        if (machine === undefined || machine.fencedRuns() === 0) continue;
        const cut = cutsOfSeed.shift();
        if (cut !== undefined) cuts.push(cut({ world, servers, node: name, machine, workload: 'once' }));
      }
    });
    return () => {
      const once = liveReplicasOf(world, 'once');
      const anew = liveReplicasOf(world, 'anew');
      return [
        ...cuts.flat(),
        ...unlessSo(
          [once.length === 2, `wanted 2 replicas that run once; there are ${shownReplicas(once)}`],
          [anew.length === 3, `wanted 3 replicas; there are ${shownReplicas(anew)}`],
        ),
      ];
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1', 'L3', 'L4', 'L5'],
  mustOccur: ['crash', 'pause', 'partition', 'drift', 'oneWay.up', 'oneWay.down'],
};
