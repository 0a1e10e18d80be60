import type { Scenario } from '../scenario.js';
import { bindingIn } from '../world/bound-replica.js';
import { liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const replicas = 3;
// Long enough to be called late. Where it is waited for, far from the end of its lease: the first renewals afterwards may
// get lost too.
const silentMs = { committed: 20_000, notCommitted: 30_000 } as const;

/** A bind whose request times out while its node falls silent; it had committed, or it had not. */
function bindDuringNodeFailure(name: string, committed: boolean): Scenario {
  return {
    name,
    about: committed
      ? 'a bind times out and its node is late: it had committed, so nothing is bound twice and the node is waited for'
      : 'a bind times out and its node is late: it had not committed, so it is placed on a node that is heard of',
    chaosMs: 90_000,
    settleMs: 150_000,
    plan: (usual) => ({ rates: { ...usual.rates, 'store.requestLost': 0 }, events: [] }),
    begin: (world) => {
      const { servers } = startSmallCell(world, {
        nodes: [node('node-b7', '8'), node('node-b8', '8', { zone: 'b' })],
        wishes: [...basics('risk'), service('risk', 'risk-api', replicas, { cpu: '1' })],
        detects: true,
      });
      const isOpen = (of: string): boolean => {
        const account = world.history.get(`/a/node/${of}`) as { gate: { state: string } } | undefined;
        return account?.gate.state !== 'Closed';
      };
      let hit: { readonly replica: string; readonly node: string } | undefined;
      world.direct = (transaction) => {
        const binding = bindingIn(transaction, 'risk-api');
        if (binding === undefined) return undefined;
        if (hit === undefined) {
          hit = binding;
          // Silent from now on, for less than its lease: what is there is not given away. A server that begins to lead
          // meanwhile may call nobody late in that time, and whoever asks just then may get no answer; then it falls
          // silent again.
          const fallSilent = (): void => {
            const ms = committed ? silentMs.committed : silentMs.notCommitted;
            silence(world, `agent-${binding.node}`, servers, ms);
            world.wire.after(ms - 500, () => {
              // All of them: others may have been proposed for the node in the same moment.
              const isPlaced = replicasOf(world, 'risk-api').every(
                ({ status }) => status?.binding !== undefined,
              );
              if (!committed && !isPlaced) world.wire.after(5_000, fallSilent);
            });
          };
          world.wire.after(1_000, fallSilent);
          return committed ? 'store.replyLost' : 'store.requestLost';
        }
        // As long as the node is not known to be late, the request does not get there.
        return !committed && binding.node === hit.node && isOpen(hit.node) ? 'store.requestLost' : undefined;
      };
      return () => {
        const all = replicasOf(world, 'risk-api');
        const one = all.find(({ metadata }) => metadata.name === hit?.replica);
        const binds = one?.status?.transitions?.filter(({ to }) => to === 'Bound').length;
        const where = one?.status?.binding?.node;
        return unlessSo(
          [hit !== undefined, 'no bind was hit, so nothing was shown'],
          [all.length === replicas, `wanted ${replicas} and no others; there are ${shownReplicas(all)}`],
          [liveReplicasOf(world, 'risk-api').length === replicas, `some ended: ${shownReplicas(all)}`],
          [binds === 1, `${hit?.replica} was bound ${binds} times`],
          [
            (where === hit?.node) === committed,
            `${hit?.replica} is on ${where}; the bind to ${hit?.node} had ${committed ? '' : 'not '}committed`,
          ],
          [
            all.every(({ status }) => status?.conditions?.some(({ type }) => type === 'Bound')),
            'a condition does not say that it is bound',
          ],
        );
      };
    },
    mustCheck: ['S2', 'S5', 'S7', 'S12', 'L1', 'L2', 'L3', 'L8', 'L9'],
    mustOccur: ['partition', committed ? 'store.replyLost' : 'store.requestLost'],
  };
}

export const bindDuringNodeFailureScenarios: readonly Scenario[] = [
  bindDuringNodeFailure('000-bind-during-node-failure', true),
  bindDuringNodeFailure('000-bind-during-node-failure-not-committed', false),
];
