import type { Scenario } from '../scenario.js';
import { liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const nodes = [node('node-a', '4'), node('node-b', '4', { zone: 'b' })];

/** Rows of lesson 004's matrix, and its question about leaders. */
export const matrix: readonly Scenario[] = [
  {
    name: '004-leader-change-after-timeout',
    about:
      'a leader crashes with a write of its own unanswered; the next one goes on from what is stored, and does nothing twice',
    chaosMs: 60_000,
    settleMs: 120_000,
    plan: (usual, seed) => ({
      rates: { ...usual.rates, 'store.replyLost': 0.15, 'store.requestLate': 0.05 },
      events: [
        ...usual.events,
        ...[5_000, 12_000, 24_000, 38_000].map((atMs, index) => ({
          kind: 'crash' as const,
          atMs: atMs + (seed % 7) * 400,
          forMs: 20_000,
          target: index % 2,
          other: 0,
        })),
      ].toSorted((a, b) => a.atMs - b.atMs),
    }),
    begin: (world) => {
      startSmallCell(world, {
        nodes,
        wishes: [...basics('risk', { limit: { cpu: '6' } }), service('risk', 'risk-api', 4, { cpu: '1' })],
        rivals: [{ reserves: true }],
      });
      return () => once(world, 'risk-api', 4);
    },
    mustCheck: ['S2', 'S3', 'S5', 'S6', 'S7', 'S8', 'S12', 'L1', 'L2', 'L4', 'L9'],
    mustOccur: ['crash', 'store.replyLost', 'store.requestLate'],
  },
  {
    name: '004-matrix-1',
    about:
      'writes commit but their senders time out: what is tried again is the same operation, and has one effect',
    chaosMs: 40_000,
    settleMs: 120_000,
    plan: (usual) => ({
      ...usual,
      rates: { 'network.replyLost': 0.3, 'store.replyLost': 0.2, 'network.duplicated': 0.2 },
    }),
    begin: (world) => {
      startSmallCell(world, {
        nodes,
        wishes: [...basics('risk'), service('risk', 'risk-api', 4, { cpu: '1' })],
        rivals: [{ reserves: true }],
      });
      return () => once(world, 'risk-api', 4);
    },
    mustCheck: ['S5', 'S6', 'S7', 'S12', 'L1', 'L2', 'L8', 'L9'],
    mustOccur: ['network.replyLost', 'store.replyLost', 'network.duplicated'],
  },
  {
    name: '004-matrix-7',
    about:
      'two schedulers act at once on everything: one of two that want the same wins, and nothing is promised twice',
    chaosMs: 40_000,
    settleMs: 120_000,
    begin: (world) => {
      startSmallCell(world, {
        nodes: [
          node('node-a', '3', { devices: { gpu: ['GPU-1', 'GPU-2'] } }),
          node('node-b', '2', { zone: 'b' }),
        ],
        wishes: [
          ...basics('risk', { limit: { cpu: '5' } }),
          service('risk', 'risk-api', 3, { cpu: '1' }),
          service('risk', 'train', 2, { cpu: '1', devices: { gpu: 1 } }),
        ],
        rivals: [{ carelessness: 0.2 }, { carelessness: 0.2 }, { carelessness: 0.2 }],
      });
      return () => [...once(world, 'risk-api', 3), ...once(world, 'train', 2)];
    },
    mustCheck: ['S1', 'S2', 'S3', 'S5', 'S7', 'L1', 'L2', 'L9'],
    mustOccur: ['crash', 'watch.lag', 'network.replyLost'],
  },
];

/** As many replicas as are wanted, each bound once, and none made a second time: nothing here ever exits. */
function once(world: Parameters<Scenario['begin']>[0], workload: string, wanted: number): readonly string[] {
  const live = liveReplicasOf(world, workload);
  const incarnations = replicasOf(world, workload).map(({ spec }) => spec.incarnation);
  return unlessSo(
    [live.length === wanted, `wanted ${wanted} replicas of ${workload}; there are ${shownReplicas(live)}`],
    [
      incarnations.every((one) => one === 1),
      `replicas were made more than once: incarnations ${incarnations.join(', ')}`,
    ],
  );
}
