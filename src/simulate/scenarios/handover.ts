import { leaseKey, type LeaseRecord } from '../../model/records.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const stopMsMax = 5_000;
const awayMs = 6_000;
const turnsMs = [12_000, 27_000, 42_000];

/** Servers that are restarted one after the other, as for an upgrade: each releases its leases, and the other takes them. */
export const handover: Scenario = {
  name: 'handover',
  about:
    'servers are stopped and started again in turn: each releases its leases, and nothing is committed under them afterwards',
  chaosMs: 60_000,
  settleMs: 120_000,
  plan: (usual) => ({
    rates: { 'network.requestLost': 0.01, 'network.replyLost': usual.rates['network.replyLost'] ?? 0 },
    events: [],
  }),
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [node('n1', '4'), node('n2', '4', { zone: 'b' })],
      wishes: [...basics('shop'), service('shop', 'web', 4, { cpu: '1' })],
      exits: 0.02,
      detects: true,
    });
    for (const [turn, atMs] of turnsMs.entries()) {
      const server = servers[(turn + world.options.seed) % servers.length];
      world.wire.after(atMs, () => server?.stop(stopMsMax));
      world.wire.after(atMs + awayMs, () => server?.start());
    }
    return () => {
      const live = liveReplicasOf(world, 'web');
      const released = world.commits.filter(({ changes }) =>
        changes.some(({ key, after }) => key.startsWith(leaseKey('')) && isStopped(after)),
      );
      return unlessSo(
        [released.length > 0, 'no server released a lease, so nothing was shown'],
        [live.length === 4, `wanted 4 replicas; there are ${shownReplicas(live)}`],
      );
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'L1', 'L4', 'L9'],
  mustOccur: ['network.requestLost'],
  mustRefuse: ['renew.lease', 'resign.lease', 'bind.actor', 'report.node'],
};

/** A parsed boundary: only the authority writes under these keys. */
const isStopped = (after: unknown): boolean => {
  const { holder, lastTerm } = (after ?? {}) as Partial<LeaseRecord>;
  return holder === '' && lastTerm?.reason === 'Stopped';
};
