import type { Scenario } from '../scenario.js';
import { isUp, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startForgetfulScheduler } from '../world/forgetful-scheduler.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const chaosMs = 45_000;

/** [L7] Holds of a gang that nobody comes back to: each expires once, and the gang counts one less. */
export const gangExpiry: Scenario = {
  name: 'gang-expiry',
  about:
    'a scheduler holds for members of a gang and forgets them: the holds expire, the gang counts those that stand, and others start it',
  chaosMs,
  settleMs: 200_000,
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [node('n1', '2'), node('n2', '2', { zone: 'b' })],
      wishes: [...basics('risk'), service('risk', 'crew', 4, { cpu: '1' }, { gang: { minAvailable: 4 } })],
      schedulesFromMs: chaosMs,
    });
    startForgetfulScheduler(world, servers);
    const hasExpired = (): boolean =>
      world.commits.some(({ changes }) =>
        changes.some(({ key, after }) => key.startsWith('/s/Reservation/') && stateIn(after) === 'Expired'),
      );
    return () => {
      const crew = liveReplicasOf(world, 'crew');
      return unlessSo(
        [hasExpired(), 'no hold expired, so nothing was shown'],
        [crew.length === 4 && crew.every(isUp), `the gang did not start: ${shownReplicas(crew)}`],
      );
    };
  },
  mustCheck: ['S2', 'S3', 'S6', 'S7', 'S9', 'L5', 'L7'],
  mustRefuse: ['releaseHold.actor', 'reserve.actor', 'reserve.node'],
  mustOccur: ['crash', 'network.replyLost'],
};

const stateIn = (value: unknown): string | undefined =>
  (value as { readonly status?: { readonly state?: string } } | undefined)?.status?.state;
