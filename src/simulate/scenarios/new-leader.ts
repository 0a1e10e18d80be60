import type { Lease } from '../../model/kinds/lease.js';
import type { Scenario } from '../scenario.js';
import { isUp, liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { whenSo } from '../world/when-so.js';

const leaders = ['repair-controller', 'detector'];
const windowMs = 130_000;

/**
 * [S5] Leaders crash shortly before a node falls silent, and again while it is. Whoever leads next has seen the silence
 * begin before its own term, or as it began. Nobody else judges nodes or repairs here.
 */
export const newLeader: Scenario = {
  name: 'new-leader',
  about:
    'the leader crashes some 15 s before a node falls silent, and in most histories again: who leads next counts the whole window itself',
  chaosMs: 330_000,
  settleMs: 120_000,
  plan: () => ({ rates: { 'store.replyLost': 0.005, 'network.replyLost': 0.01 }, events: [] }),
  begin: (world) => {
    const { seed } = world.options;
    const { servers } = startSmallCell(world, {
      nodes: [
        node('n1', '2'),
        node('n2', '2', { zone: 'b' }),
        node('n3', '2'),
        node('n4', '2', { zone: 'b' }),
      ],
      wishes: [
        ...basics('risk'),
        service('risk', 'once', 2, { cpu: '1' }, {}, { execution: 'AtMostOne' }),
        service('risk', 'anew', 2, { cpu: '500m' }),
      ],
      detects: true,
    });
    const crashLeaders = (): void => {
      for (const lease of leaders) {
        const { holder = '' } = (world.history.get(`/l/${lease}`) as Lease['spec'] | undefined) ?? {};
        for (const server of servers)
          if (server.life !== undefined && holder.startsWith(`${server.name}-`)) {
            world.faults.count('crash');
            server.crash();
          }
      }
    };
    const isThere = (): boolean => {
      const all = [...liveReplicasOf(world, 'once'), ...liveReplicasOf(world, 'anew')];
      return all.length === 4 && all.every(isUp);
    };
    // The next one leads some 15 s after the crash: a little before or after the last renewal of the node.
    const silentAfterMs = 11_000 + (seed % 7) * 1_000;
    const againAfterMs = [undefined, windowMs / 2, windowMs - 10_000][seed % 3];
    let lostOn = '';
    whenSo(world, isThere, () => {
      const [one] = liveReplicasOf(world, 'once');
      lostOn = one?.status?.binding?.node ?? '';
      crashLeaders();
      world.wire.after(silentAfterMs, () => silence(world, `agent-${lostOn}`, servers, 300_000));
      if (againAfterMs !== undefined) world.wire.after(silentAfterMs + againAfterMs, crashLeaders);
    });
    return () => {
      const all = replicasOf(world, 'once');
      const live = all.filter(isUp);
      const reasons = all.flatMap(({ status }) => status?.transitions?.at(-1)?.reason ?? []);
      return unlessSo(
        [live.length === 2, `wanted 2 replicas that run once: ${shownReplicas(all)}`],
        [
          live.every(({ status }) => status?.binding?.node !== lostOn),
          `some should have left ${lostOn}: ${shownReplicas(live)}`,
        ],
        [reasons.includes('FenceExpired'), `none was released by its fence: ${reasons.join(', ')}`],
      );
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
  mustOccur: ['crash', 'partition'],
};
