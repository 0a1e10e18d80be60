import type { Node } from '../../model/kinds/node.js';
import type { Region } from '../../model/kinds/region.js';
import type { Scenario } from '../scenario.js';
import { onceBound } from '../world/bound-replica.js';
import { isUp, liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { whenSo } from '../world/when-so.js';
import type { World } from '../world/world.js';

const once = { execution: 'AtMostOne' };
const gpu = (name: string) => node(name, '8', { labels: { pool: 'gpu' }, devices: { gpu: [`${name}-0`] } });

/** The conditions that replicas of a workload were seen to have. */
function conditionsSeen(world: World, workload: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const look = (): void => {
    for (const { status } of replicasOf(world, workload))
      for (const { type, status: is } of status?.conditions ?? []) if (is === 'True') seen.add(type);
    world.wire.after(500, look);
  };
  look();
  return seen;
}

/** What happens to the work of nodes that fall silent, by what was promised for it. */
export const lostNodes: readonly Scenario[] = [
  {
    name: '001-conservative-binding-silent',
    about:
      'a job for one GPU whose node falls silent after the bind: an explicit timeout, a release, another place, one execution',
    chaosMs: 260_000,
    settleMs: 150_000,
    plan: (usual) => ({
      rates: { 'store.replyLost': 0.01, 'watch.lag': usual.rates['watch.lag'] ?? 0.02 },
      events: [],
    }),
    begin: (world) => {
      const { servers } = startSmallCell(world, {
        nodes: [gpu('node-gpu-7'), gpu('node-gpu-8')],
        wishes: [
          ...basics('fraud', { limit: { devices: { gpu: 1 } } }),
          service('fraud', 'fraud-batch', 1, { cpu: '1', devices: { gpu: 1 } }, {}, once),
        ],
        detects: true,
      });
      let first = '';
      onceBound(world, 'fraud-batch', (bound) => {
        first = bound;
        world.wire.after(3_000, () => silence(world, `agent-${bound}`, servers, 230_000));
      });
      return () => {
        const all = replicasOf(world, 'fraud-batch');
        const steps = (all[0]?.status?.transitions ?? []).map(({ to, reason }) => `${to} ${reason}`);
        const live = liveReplicasOf(world, 'fraud-batch');
        return unlessSo(
          [all.length === 2, `wanted one and its successor: ${shownReplicas(all)}`],
          [steps.includes('Unknown LeaseExpired'), `it was never told to be unknown: ${steps.join(', ')}`],
          [steps.at(-1) === 'Released FenceExpired', `it was not released by its fence: ${steps.join(', ')}`],
          [
            live.length === 1 && live[0]?.status?.binding?.node !== first,
            `it should have moved away from ${first}: ${shownReplicas(live)}`,
          ],
        );
      };
    },
    mustCheck: ['S1', 'S3', 'S5', 'S7', 'S8', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
    mustOccur: ['partition'],
  },
  {
    name: '001-fail-open',
    about:
      'a node falls silent and work that may run twice is replaced: one replacement, the risk is told, and who comes back late is stopped',
    chaosMs: 200_000,
    settleMs: 150_000,
    plan: (usual) => ({
      rates: { ...usual.rates, 'store.crashAfter': 0, 'store.crashBefore': 0, 'shards.mistaken': 0 },
      events: [],
    }),
    begin: (world) => {
      const { servers } = startSmallCell(world, {
        nodes: [node('node-a', '4'), node('node-b', '4', { zone: 'b' })],
        wishes: [...basics('fraud', { limit: { replicas: 1 } }), service('fraud', 'scores', 1, { cpu: '1' })],
        detects: true,
      });
      const seen = conditionsSeen(world, 'scores');
      // It runs there, so that somebody is to be stopped.
      const running = () => replicasOf(world, 'scores').find(isUp)?.status?.binding?.node;
      whenSo(
        world,
        () => running() !== undefined,
        () => silence(world, `agent-${running()}`, servers, 150_000),
      );
      return () => {
        const all = replicasOf(world, 'scores');
        const [lost, next] = all;
        return unlessSo(
          [all.length === 2, `one replacement was wanted: ${shownReplicas(all)}`],
          [
            lost?.status?.intent?.reason === 'Superseded' && lost.status.stage === 'Released',
            `the lost one was not told to stop: ${shownReplicas(all)}`,
          ],
          [next !== undefined && isUp(next), `the other one should run: ${shownReplicas(all)}`],
          [
            seen.has('MayRunTwice') && seen.has('Superseded'),
            `the risk was not told; told was ${[...seen].join(', ')}`,
          ],
          [
            next?.status?.conditions?.some(({ type }) => type === 'MayRunTwice') === false,
            'the risk is over, and still told',
          ],
        );
      };
    },
    mustCheck: ['S3', 'S5', 'S6', 'S7', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
    mustOccur: ['partition', 'network.replyLost'],
  },
  {
    name: '001-fail-closed',
    about:
      'a node falls silent and its work asks to wait: nothing is replaced, a human is asked for, and what they attest lets it go on elsewhere',
    chaosMs: 460_000,
    settleMs: 150_000,
    plan: () => ({ rates: { 'store.replyLost': 0.01, 'network.replyLost': 0.02 }, events: [] }),
    begin: (world) => {
      const { servers, user } = startSmallCell(world, {
        nodes: [node('node-a', '4'), node('node-b', '4', { zone: 'b' })],
        wishes: [
          ...basics('fraud'),
          service(
            'fraud',
            'scores',
            1,
            { cpu: '1' },
            { onNodeLost: { action: 'Wait', afterSeconds: 60 } },
            once,
          ),
        ],
        detects: true,
      });
      const seen = conditionsSeen(world, 'scores');
      let before = '';
      onceBound(world, 'scores', (bound) => {
        world.wire.after(5_000, () => silence(world, `agent-${bound}`, servers, 440_000));
        const attest = (): void => {
          before = shownReplicas(replicasOf(world, 'scores'));
          // The machine is switched off, and only then somebody says so.
          world.switchOff.get(bound)?.();
          const epoch = (world.history.get(`/s/Node/_/${bound}`) as Node | undefined)?.status?.epoch;
          const authority = world.reaches.get(user)?.authority;
          if (epoch === undefined || authority === undefined) return;
          void authority
            .attest({
              ...{
                actor: { kind: 'operator', name: 'ada' },
                node: bound,
                nodeEpoch: epoch,
                forSeconds: 3_600,
              },
              ...{ reason: 'switched off by hand', operation: 'attest/1' },
            })
            .then(({ kind }) => {
              if (kind !== 'Committed' && kind !== 'AlreadyCommitted') world.wire.after(1_000, attest);
            });
        };
        world.wire.after(300_000, attest);
      });
      return () => {
        const all = replicasOf(world, 'scores');
        const live = liveReplicasOf(world, 'scores');
        return unlessSo(
          [before.split(',').length === 1 && before.includes('Unknown'), `before: ${before}`],
          [seen.has('NeedsHuman'), `nobody was asked for; told was ${[...seen].join(', ')}`],
          [!seen.has('Replaceable'), 'it was offered for replacement'],
          [
            all[0]?.status?.transitions?.at(-1)?.reason === 'Attested',
            `it was not released on the word of a human: ${shownReplicas(all)}`,
          ],
          [live.length === 1 && live.every(isUp), `it did not go on: ${shownReplicas(all)}`],
        );
      };
    },
    mustCheck: ['S5', 'S6', 'S7', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
    mustOccur: ['partition'],
  },
  {
    name: 'zone-silent',
    about:
      'a whole zone is silent for longer than a lease and comes back: nothing there is replaced, and the region says why',
    chaosMs: 130_000,
    settleMs: 150_000,
    plan: (usual) => ({ rates: { 'store.replyLost': usual.rates['store.replyLost'] ?? 0 }, events: [] }),
    begin: (world) => {
      const zone = (name: string) =>
        [1, 2, 3].map((number) => node(`node-${name}${number}`, '4', { zone: name }));
      const { servers } = startSmallCell(world, {
        nodes: [...zone('a'), ...zone('b')],
        wishes: [
          ...basics('risk'),
          service(
            'risk',
            'risk-api',
            6,
            { cpu: '1' },
            { placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] } },
          ),
          service('risk', 'once', 2, { cpu: '1' }, {}, once),
        ],
        detects: true,
      });
      const seen = { braked: false, unknown: false };
      world.wire.after(30_000, () => {
        const nodes = zone('a').map(({ name }) => name);
        for (const name of nodes) silence(world, `agent-${name}`, servers, 75_000);
      });
      const look = (): void => {
        const region = world.history.get('/s/Region/_/eu-central') as Region | undefined;
        seen.braked ||= region?.status?.conditions?.some(({ type }) => type === 'Braked') === true;
        seen.unknown ||= replicasOf(world, 'risk-api').some(({ status }) => status?.stage === 'Unknown');
        world.wire.after(1_000, look);
      };
      look();
      return () => {
        const all = [...replicasOf(world, 'risk-api'), ...replicasOf(world, 'once')];
        const region = world.history.get('/s/Region/_/eu-central') as Region | undefined;
        return unlessSo(
          [all.length === 8, `8 were wanted, and no others were to be made: ${shownReplicas(all)}`],
          [all.every(isUp), `not all are back: ${shownReplicas(all)}`],
          [seen.unknown, 'nothing was ever of unknown fate, so nothing was shown'],
          [seen.braked, 'no region said that repair was held back'],
          [(region?.status?.conditions ?? []).length === 0, 'the region still says so'],
        );
      };
    },
    mustCheck: ['S5', 'S6', 'S7', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
    mustOccur: ['partition'],
  },
];
