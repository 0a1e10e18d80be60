import type { Scenario } from '../scenario.js';
import { isUp, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { noFaults } from '../world/fault-plan.js';
import { cutOff, silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { whenSo } from '../world/when-so.js';

const lost = [1, 2, 3, 4, 5].map((number) => `a${number}`);
const others = ['b1', 'b2'];
const replicas = 15;

/** [S6] A zone is silent for longer than a brake holds, or three of its five nodes come back before that. */
export const zoneLost: Scenario = {
  name: 'zone-lost',
  about:
    'a zone falls silent for good, or three of its five nodes come back: nothing is given away while a brake stops repair, and then a little at a time',
  chaosMs: 400_000,
  settleMs: 150_000,
  plan: () => noFaults,
  begin: (world) => {
    const { seed } = world.options;
    const { servers } = startSmallCell(world, {
      nodes: [
        ...lost.map((name) => node(name, '3')),
        ...others.map((name) => node(name, '16', { zone: 'b' })),
      ],
      wishes: [...basics('risk'), service('risk', 'anew', replicas, { cpu: '1' })],
      detects: true,
    });
    const live = () => liveReplicasOf(world, 'anew');
    // The others come when all work has a place.
    const come = others.map((name) => cutOff(world, `agent-${name}`, servers));
    const areThere = (): boolean =>
      others.every((name) => world.history.get(`/o/Node/_/${name}`) !== undefined);
    let wasLost = 0;
    const fallSilent = (): void => {
      const isForGood = seed % 2 === 0;
      const silentNodes = lost.map(
        (name, index) => [name, isForGood || index > 2 ? 390_000 : 100_000] as const,
      );
      for (const [name, forMs] of silentNodes) silence(world, `agent-${name}`, servers, forMs);
      const gone = silentNodes.filter(([, forMs]) => forMs > 100_000).map(([name]) => name);
      wasLost = live().filter(({ status }) => gone.includes(status?.binding?.node ?? '')).length;
    };
    whenSo(
      world,
      () => live().length === replicas && live().every(isUp),
      () => {
        come.forEach((heal) => heal());
        whenSo(world, areThere, fallSilent);
      },
    );
    return () =>
      unlessSo(
        [wasLost >= 4, `${wasLost} replicas were lost, so little was shown`],
        [
          live().length === replicas && live().every(isUp),
          `${replicas} are wanted: ${shownReplicas(live())}`,
        ],
      );
  },
  mustCheck: ['S5', 'S6', 'S7', 'S12', 'L1', 'L3', 'L4', 'L5'],
  mustOccur: ['partition'],
};
