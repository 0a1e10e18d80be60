import type { Node } from '../../model/kinds/node.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startHastyRollout } from '../world/hasty-rollout.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { whenSo } from '../world/when-so.js';

const drained = ['n2', 'n3', 'n4'];

/** [S6] A service of which some are lost already, on nodes that are drained at once, while a rollout takes what the authority lets it take. */
export const drainShort: Scenario = {
  name: 'drain-short',
  about:
    'a node falls silent, and while its replicas are away three others are drained at once: no more leave than the service can do without',
  chaosMs: 75_000,
  settleMs: 200_000,
  plan: (usual) => ({
    rates: {
      'watch.lag': 0.05,
      'store.replyLost': 0.02,
      'wakeUp.dropped': usual.rates['wakeUp.dropped'] ?? 0,
    },
    events: [],
  }),
  begin: (world) => {
    const { seed } = world.options;
    const mostAway = 2 + (seed % 3 === 1 ? 1 : 0);
    const { servers, user } = startSmallCell(world, {
      nodes: ['n1', ...drained, 'n5'].map((name, index) =>
        node(name, '3', { zone: index % 2 === 0 ? 'a' : 'b' }),
      ),
      wishes: [
        ...basics('risk'),
        service(...(['risk', 'api', 10, { cpu: '1' }] as const), {
          // What is lost stays away: nobody takes its place, and it does not come back while nodes are drained.
          onNodeLost: { action: 'Wait', afterSeconds: 60 },
          disruption: { maxUnavailable: mostAway },
          placement: { spread: [{ topology: 'Node', maxSkew: 2 }] },
        }),
      ],
      exits: 0.005,
      detects: true,
    });
    // In every other history: it uses up the limit of the authority, which hides what a drain counts wrongly.
    if (seed % 2 === 0) startHastyRollout(world, servers, 'api');
    const drain = (name: string): void => {
      world.reaches
        .get(user)
        ?.objects.modify<Node>('Node', undefined, name, 'spec', (live) => ({
          ...live,
          spec: { ...live.spec, drain: { reason: 'maintenance' } },
        }))
        .catch(() => world.wire.after(1_000, () => drain(name)));
    };
    const servingOn = (name?: string): number =>
      liveReplicasOf(world, 'api').filter(
        ({ status }) => status?.stage === 'Serving' && (name === undefined || status.binding?.node === name),
      ).length;
    const begin = (): void => {
      const onLost = servingOn('n1');
      silence(world, 'agent-n1', servers, 55_000);
      // As soon as they count as lost, or a little before.
      world.wire.after(36_000 + (seed % 4) * 2_000, () => drained.forEach(drain));
      lost = onLost;
    };
    let lost = 0;
    whenSo(world, () => servingOn() >= 9 && servingOn('n1') >= 1, begin);
    return () => {
      const live = liveReplicasOf(world, 'api');
      const left = live.filter(({ status }) => drained.includes(status?.binding?.node ?? ''));
      return unlessSo(
        [lost > 0, 'nothing was lost, so nothing was shown'],
        [servingOn() > 0, `nobody serves any more: ${shownReplicas(live)}`],
        [left.length < 10, `nothing was drained: ${shownReplicas(left)}`],
      );
    };
  },
  mustCheck: ['S2', 'S4', 'S5', 'S6', 'S7', 'L4'],
  mustOccur: ['partition', 'watch.lag'],
};
