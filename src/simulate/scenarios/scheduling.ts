import type { Replica } from '../../model/kinds/replica.js';
import type { Tenant } from '../../model/kinds/tenant.js';
import { shownMs } from '../checkers/shown-ms.js';
import type { Scenario } from '../scenario.js';
import { startAsker } from '../world/asker.js';
import { liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { noFaults } from '../world/fault-plan.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { cutOff, silence } from '../world/silence.js';
import { whenSo } from '../world/when-so.js';
import { wish } from '../world/wish.js';
import type { World } from '../world/world.js';

const gpuNode = node('node-gpu-7', '8', { labels: { pool: 'gpu' }, devices: { gpu: ['GPU-0a1b'] } });
const once = { execution: 'AtMostOne' };

/** Every reason for which a replica of the workload was seen to wait. */
function reasonsSeen(world: World, workload: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const look = (): void => {
    for (const { status } of replicasOf(world, workload))
      for (const { type, status: is, reason } of status?.conditions ?? [])
        if (type === 'SchedulingRetrying' && is === 'True' && reason !== undefined) seen.add(reason);
    world.wire.after(500, look);
  };
  world.wire.after(500, look);
  return seen;
}

const nodesOf = (replicas: readonly Replica[]): readonly string[] =>
  replicas.flatMap(({ status }) => status?.binding?.node ?? []);

/** What the scheduler does in the worked cases of lessons 001 to 003. */
export const scheduling: readonly Scenario[] = [
  {
    name: '001-conservative-binding',
    about:
      'a job for one GPU whose quota is raised late and whose node is heard of late: it waits, says why, and goes on when the evidence comes',
    chaosMs: 210_000,
    settleMs: 120_000,
    // Somebody has to look at it, and for long enough to notice: who is started anew hears of no node, and calls none late
    // before it has waited itself.
    plan: (usual) => ({
      rates: {
        ...usual.rates,
        ...{ 'store.unavailable': 0, 'store.crashBefore': 0, 'store.crashAfter': 0, 'shards.mistaken': 0 },
      },
      events: [],
    }),
    begin: (world) => {
      const { servers, user } = startSmallCell(world, {
        nodes: [gpuNode],
        wishes: [
          ...basics('fraud', { limit: { devices: { gpu: 0 } } }),
          service(
            'fraud',
            'fraud-batch',
            1,
            { cpu: '1', devices: { gpu: 1 } },
            { placement: { regions: ['eu-central'] } },
            once,
          ),
        ],
        detects: true,
      });
      const seen = reasonsSeen(world, 'fraud-batch');
      const raise = (): void => {
        world.reaches
          .get(user)
          ?.objects.modify<Tenant>('Tenant', undefined, 'fraud', 'spec', (live) => ({
            ...live,
            spec: { ...live.spec, limit: { devices: { gpu: 1 } } },
          }))
          .catch(() => world.wire.after(1_000, raise));
      };
      // The node falls silent before its quota comes, and is heard of again long after. What a replica is told may get
      // lost and is then told again a minute later: nothing goes on before it was.
      let heardAtMs = Number.POSITIVE_INFINITY;
      const fallSilent = (): void => {
        const heal = cutOff(world, 'agent-node-gpu-7', servers);
        world.wire.after(20_000, raise);
        world.wire.after(45_000, () =>
          whenSo(
            world,
            () => seen.has('NodeStale') || seen.has('GateClosed'),
            () => {
              heal();
              heardAtMs = world.time.nowMs;
            },
          ),
        );
      };
      world.wire.after(20_000, () => whenSo(world, () => seen.has('QuotaExceeded'), fallSilent));
      let boundAtMs: number | undefined;
      const look = (): void => {
        if (nodesOf(liveReplicasOf(world, 'fraud-batch')).length > 0) boundAtMs ??= world.time.nowMs;
        world.wire.after(500, look);
      };
      look();
      return () => {
        const live = liveReplicasOf(world, 'fraud-batch');
        return unlessSo(
          [nodesOf(live).join() === 'node-gpu-7', `it is ${shownReplicas(live)}, not on node-gpu-7`],
          [replicasOf(world, 'fraud-batch').length === 1, 'it was made more than once'],
          [seen.has('QuotaExceeded'), `QuotaExceeded was never told; told was ${[...seen].join(', ')}`],
          [
            seen.has('NodeStale') || seen.has('GateClosed'),
            `that its node was not heard of was never told; told was ${[...seen].join(', ')}`,
          ],
          [
            (boundAtMs ?? 0) >= heardAtMs,
            `it was bound at ${shownMs(boundAtMs ?? 0)}, before its node was heard of again`,
          ],
        );
      };
    },
    mustCheck: ['S1', 'S3', 'S4', 'S5', 'S7', 'L1', 'L2', 'L3', 'L6', 'L9'],
    mustOccur: ['partition', 'watch.lag'],
  },
  {
    name: '002-eu-gpu-job',
    about:
      'EU data, a GPU, three regions: chosen from an old inventory while another region drains; only ever an EU node, and no GPU twice',
    chaosMs: 40_000,
    settleMs: 120_000,
    begin: (world) => {
      const gpus = (region: string, name: string) =>
        node(name, '8', { region, labels: { pool: 'gpu' }, devices: { gpu: [`${name}-0`, `${name}-1`] } });
      const { user } = startSmallCell(world, {
        nodes: [gpus('us-east', 'gpu-us-1'), gpus('us-west', 'gpu-us-2'), gpus('eu-central', 'gpu-eu-1')],
        wishes: [
          ...basics('fraud', { residency: ['EU'] }),
          wish('Region', undefined, 'us-east', { jurisdiction: 'US', zones: ['a'] }),
          wish('Region', undefined, 'us-west', { jurisdiction: 'US', zones: ['a'] }),
          service(
            'fraud',
            'fraud-batch',
            3,
            { cpu: '1', devices: { gpu: 1 } },
            { placement: { near: { region: 'eu-central', maxLatencyMs: 20 } } },
            once,
          ),
        ],
        rivals: [{ carelessness: 0.5 }],
      });
      const drain = (): void => {
        world.reaches
          .get(user)
          ?.objects.modify('Node', undefined, 'gpu-us-2', 'spec', (live) => ({
            ...live,
            spec: { ...live.spec, drain: { reason: 'maintenance' } },
          }))
          .catch(() => world.wire.after(1_000, drain));
      };
      world.wire.after(3_000, drain);
      return () => {
        const live = liveReplicasOf(world, 'fraud-batch');
        const nodes = nodesOf(live);
        return unlessSo(
          [nodes.every((name) => name === 'gpu-eu-1'), `outside the EU: ${shownReplicas(live)}`],
          [nodes.length === 2, `two GPUs are in the EU; ${shownReplicas(live)}`],
        );
      };
    },
    mustCheck: ['S1', 'S4', 'S5', 'S7', 'L1', 'L2', 'L6', 'L9'],
    mustOccur: ['watch.lag', 'crash'],
  },
  {
    name: '003-gpu-flow',
    about: 'from the desired object to the binding: each step is taken by its owner, and only by it',
    chaosMs: 30_000,
    settleMs: 120_000,
    begin: (world) => {
      startSmallCell(world, {
        nodes: [gpuNode, node('node-b', '8', { zone: 'b' })],
        wishes: [...basics('fraud'), service('fraud', 'fraud-batch', 1, { cpu: '1', devices: { gpu: 1 } })],
      });
      return () => {
        const [replica] = liveReplicasOf(world, 'fraud-batch');
        const steps = (replica?.status?.transitions ?? []).map(
          ({ to, actor }) => `${to} by ${actor.split(':')[0]}`,
        );
        return unlessSo(
          [
            replica?.status?.binding?.node === 'node-gpu-7',
            `it is ${shownReplicas(replica ? [replica] : [])}`,
          ],
          [
            steps.slice(0, 3).join(', ') ===
              'Queued by workload-controller, Bound by scheduler, Starting by agent',
            `its steps were ${steps.join(', ')}`,
          ],
        );
      };
    },
    mustCheck: ['S1', 'S5', 'S6', 'S7', 'S12', 'L1', 'L4', 'L9'],
    mustOccur: ['crash', 'network.replyLost'],
  },
  {
    name: '003-stuck-replica',
    about:
      'replicas that do not come: held back as the desired object says, in the queue, and before their binding; each has its own answer',
    chaosMs: 60_000,
    settleMs: 120_000,
    plan: () => noFaults,
    begin: (world) => {
      const { servers, user } = startSmallCell(world, {
        nodes: [node('node-a', '2'), node('node-b', '1', { zone: 'b' })],
        wishes: [
          ...basics('fraud'),
          wish('PriorityClass', undefined, 'critical', { value: 100 }),
          service('fraud', 'held', 1, { cpu: '1' }, { suspend: true }),
          service('fraud', 'queued', 1, { cpu: '1', devices: { gpu: 1 } }),
          service('fraud', 'fill', 1, { cpu: '2' }),
        ],
      });
      // Its victim's agent does not answer: what it awaits is not freed, and it is not bound yet.
      world.wire.after(15_000, () => silence(world, 'agent-node-a', servers, 30_000));
      const late = service('fraud', 'awaiting', 1, { cpu: '2' }, { priorityClassName: 'critical' });
      world.wire.after(18_000, () => {
        void world.reaches.get(user)?.objects.create('Workload', 'fraud', late);
      });
      const answers = startAsker(
        world,
        30_000,
        ['held', 'queued', 'awaiting'].map((name) => ({ kind: 'Workload', tenant: 'fraud', name })),
      );
      return () => {
        const [held, queued, awaiting] = ['held', 'queued', 'awaiting'].map((name) => answers.get(name));
        const told = [...answers.values()].map(({ answer }) => answer);
        return unlessSo(
          [new Set(told).size === 3, `three different answers are wanted: ${told.join(' | ')}`],
          [held?.limitedBy === 'Authority', `held is limited by ${held?.limitedBy}: ${held?.answer}`],
          [
            queued?.limitedBy === 'Scheduling',
            `queued is limited by ${queued?.limitedBy}: ${queued?.answer}`,
          ],
          [
            awaiting?.limitedBy === 'Binding',
            `awaiting is limited by ${awaiting?.limitedBy}: ${awaiting?.answer}`,
          ],
        );
      };
    },
    mustCheck: ['S2', 'S6', 'S7', 'S9', 'L1', 'L6', 'L9'],
    mustOccur: ['partition'],
  },
];
