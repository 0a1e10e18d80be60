import { noFaults } from '../world/fault-plan.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startMeddler } from '../world/meddler.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const gpuNode = node('node-gpu-7', '8', { labels: { pool: 'gpu' }, devices: { gpu: ['GPU-1'] } });

/** The failure modes of lesson 001 that need neither repair nor agents of their own. */
export const failureModes: readonly Scenario[] = [
  {
    name: '001-stale-eligibility',
    about:
      'schedulers choose from old snapshots: what they choose is checked again, and what is free is used in the end',
    chaosMs: 40_000,
    settleMs: 120_000,
    begin: (world) => {
      startSmallCell(world, {
        nodes: [gpuNode, node('node-a', '2'), node('node-b', '2', { zone: 'b' })],
        wishes: [
          ...basics('fraud', { limit: { cpu: '6' } }),
          service('fraud', 'fraud-batch', 2, { cpu: '1', devices: { gpu: 1 } }),
          service('fraud', 'scores', 3, { cpu: '1' }),
        ],
        // Half of what they propose was not looked at closely: as if the cache were older still.
        rivals: [{ carelessness: 0.5 }, { carelessness: 0.5 }],
      });
      return () => {
        const owners = liveReplicasOf(world, 'fraud-batch').filter(
          ({ status }) => status?.binding !== undefined,
        );
        return unlessSo([owners.length === 1, `one GPU, wanted twice: ${shownReplicas(owners)}`]);
      };
    },
    mustCheck: ['S1', 'S2', 'S3', 'S4', 'S5', 'S7', 'S11', 'L1', 'L2', 'L6', 'L9'],
    mustOccur: ['watch.lag', 'watch.cut', 'crash'],
  },
  {
    name: '001-ambiguous-ownership',
    about:
      'somebody else makes the moves of every controller, under their epochs and under others: each move has one owner',
    chaosMs: 40_000,
    settleMs: 150_000,
    // Two servers, two agents, the user and the meddler, which gets to what it is there for: neither paused nor cut off.
    plan: ({ rates, events }) => ({ rates, events: events.filter(({ target }) => target % 6 !== 5) }),
    begin: (world) => {
      const { servers } = startSmallCell(world, {
        nodes: [node('node-a', '4'), node('node-b', '4', { zone: 'b' })],
        wishes: [...basics('fraud'), service('fraud', 'scores', 3, { cpu: '1' })],
        isCareless: true,
      });
      startMeddler(world, servers, { everyMs: 300, insists: true });
      return () => unlessSo([world.refused > 0, 'nothing forbidden was tried, so nothing was shown']);
    },
    mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1', 'L4', 'L9'],
    mustOccur: ['crash', 'network.replyLost', 'network.duplicated'],
  },
  {
    name: '001-lost-wakeup',
    about: 'no change wakes any controller: everything is found by looking again, and nothing waits for ever',
    chaosMs: 60_000,
    settleMs: 120_000,
    plan: () => ({ ...noFaults, rates: { 'wakeUp.dropped': 1 } }),
    begin: (world) => {
      startSmallCell(world, {
        nodes: [node('node-a', '4')],
        wishes: [...basics('fraud', { limit: { cpu: '4' } }), service('fraud', 'scores', 3, { cpu: '1' })],
      });
      let wereThere = 0;
      // Judged while wake-ups are still dropped: when they come again, it would show nothing.
      world.wire.after(58_000, () => {
        wereThere = liveReplicasOf(world, 'scores').filter(
          ({ status }) => status?.stage === 'Ready' || status?.stage === 'Serving',
        ).length;
      });
      return () =>
        unlessSo([
          wereThere === 3,
          `without a single wake-up ${wereThere} of 3 replicas were ready after 58 s`,
        ]);
    },
    mustCheck: ['L1', 'L2', 'L6', 'L9'],
    mustOccur: ['wakeUp.dropped'],
  },
  {
    name: '001-retry-amplification',
    about: 'the store cannot be reached for 20 s: who waits for it does not multiply what it is asked',
    chaosMs: 60_000,
    settleMs: 120_000,
    plan: () => noFaults,
    begin: (world) => {
      startSmallCell(world, {
        nodes: [node('node-a', '8'), node('node-b', '8', { zone: 'b' })],
        wishes: [...basics('fraud'), service('fraud', 'scores', 6, { cpu: '1' })],
      });
      const [fromMs, toMs] = [8_000, 28_000];
      world.wire.after(fromMs, () => world.cutFromStore(toMs - fromMs));
      return () => {
        const during = world.attempts.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
        const before = world.attempts.filter((atMs) => atMs < fromMs).length;
        const perSecond = [before / (fromMs / 1_000), during / ((toMs - fromMs) / 1_000)] as const;
        return unlessSo([
          perSecond[1] <= perSecond[0],
          `${perSecond[1].toFixed(1)} transactions a second were tried during the outage, ${perSecond[0].toFixed(1)} before it`,
        ]);
      };
    },
    mustCheck: ['L1', 'L2', 'L8', 'L9'],
    mustOccur: ['storeCut'],
  },
];
