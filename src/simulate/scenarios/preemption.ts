import type { Scenario } from '../scenario.js';
import { holdsIn, isUp, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startMeddler } from '../world/meddler.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { whenSo } from '../world/when-so.js';
import { wish } from '../world/wish.js';

/** [L10] Two nodes, each full of one that ranks lower: a gang of four takes their place, two where one was. */
export const gangPreemption: Scenario = {
  name: 'gang-preemption',
  about:
    'a gang on full nodes: two members take the place of each victim, the second what that frees beyond the need of the first, and all start together',
  chaosMs: 60_000,
  settleMs: 400_000,
  begin: (world) => {
    const { user } = startSmallCell(world, {
      nodes: [node('n1', '4'), node('n2', '4', { zone: 'b' })],
      wishes: [
        ...basics('risk'),
        wish('PriorityClass', undefined, 'critical', { value: 100 }),
        wish('Tenant', undefined, 'lab', {}),
        service('lab', 'fill', 2, { cpu: '4' }, { disruption: { maxUnavailable: 2 } }),
      ],
    });
    const crew = service(...(['risk', 'crew', 4, { cpu: '2' }] as const), {
      priorityClassName: 'critical',
      gang: { minAvailable: 4 },
    });
    const create = (): void => {
      if (world.history.get('/o/Workload/risk/crew') !== undefined) return;
      void world.reaches
        .get(user)
        ?.objects.create('Workload', 'risk', crew)
        .catch(() => undefined);
      world.wire.after(1_000, create);
    };
    const areFull = (): boolean => {
      const fill = liveReplicasOf(world, 'fill');
      return fill.length === 2 && fill.every(isUp);
    };
    whenSo(world, areFull, create);
    return () => {
      const live = liveReplicasOf(world, 'crew');
      return unlessSo(
        [live.length === 4 && live.every(isUp), `all four members should run: ${shownReplicas(live)}`],
        [holdsIn(world).every(({ status }) => status?.state !== 'Held'), 'a hold is left'],
      );
    };
  },
  mustCheck: ['S2', 'S3', 'S5', 'S6', 'S7', 'S9', 'S12', 'L4', 'L7', 'L10'],
  mustOccur: ['crash', 'network.replyLost'],
};

/** Full nodes and urgent work: room is made by those that rank lower, and goes to whom it was made for. */
export const preemption: Scenario = {
  name: 'preemption',
  about: 'urgent work on full nodes: what its victims free goes to it, step by step, and to nobody else',
  chaosMs: 50_000,
  settleMs: 150_000,
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [node('n1', '3', { devices: { gpu: ['GPU-1', 'GPU-2'] } }), node('n2', '2', { zone: 'b' })],
      wishes: [
        ...basics('risk', { guaranteed: { cpu: '1' } }),
        wish('PriorityClass', undefined, 'critical', { value: 100 }),
        wish('Tenant', undefined, 'lab', {}),
        service('lab', 'fill', 4, { cpu: '1' }, { disruption: { maxUnavailable: 3 } }),
        service('lab', 'train', 1, { cpu: '1', devices: { gpu: 2 } }, { disruption: { maxUnavailable: 3 } }),
        service('risk', 'urgent', 2, { cpu: '1' }, { priorityClassName: 'critical' }),
        service('risk', 'score', 1, { cpu: '1', devices: { gpu: 1 } }, { priorityClassName: 'critical' }),
      ],
      rivals: [{ carelessness: 0.1, reserves: true }],
      exits: 0.02,
    });
    startMeddler(world, servers, { everyMs: 900 });
    return () => {
      const live = liveReplicasOf(world, 'urgent');
      return unlessSo([live.length === 2, `wanted 2 urgent replicas; there are ${shownReplicas(live)}`]);
    };
  },
  mustCheck: ['S1', 'S2', 'S3', 'S5', 'S6', 'S7', 'S9', 'S12', 'L4', 'L7'],
  mustOccur: ['crash', 'network.replyLost'],
};
