import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import { type NodeAccount, nodeAccountKey } from '../../model/records.js';
import type { Scenario } from '../scenario.js';
import { bindingIn } from '../world/bound-replica.js';
import { holdsIn, isUp, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startHastyGiver } from '../world/hasty-giver.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { World } from '../world/world.js';

const drainsIn = (seed: number): boolean => seed % 2 === 0;

/** [L7] A committed gang goes forward, also where a node it holds on will not take its member any more. */
export const strandedHold: Scenario = {
  name: 'stranded-hold',
  about:
    'a gang is committed, and the node of one of its holds drains or falls silent before the bind: the hold is given up, once, and the member runs elsewhere',
  chaosMs: 230_000,
  settleMs: 150_000,
  plan: (usual, seed) => ({
    rates: { 'store.replyLost': 0.01, 'network.replyLost': 0.02 },
    // A new leader would wait anew before it calls a silent node lost.
    events: drainsIn(seed) ? usual.events.filter(({ kind }) => kind === 'crash').slice(0, 2) : [],
  }),
  begin: (world) => {
    const drains = drainsIn(world.options.seed);
    const { servers, user } = startSmallCell(world, {
      nodes: ['a', 'b', 'c'].map((name) => node(`node-${name}`, '2')),
      wishes: [...basics('lab'), service('lab', 'crew', 2, { cpu: '2' }, { gang: { minAvailable: 2 } })],
      detects: true,
    });
    let stranded: string | undefined;
    let isTooLate = false;
    // While the gang is committed and its binds are lost, a rival tries to give up the other hold.
    startHastyGiver(world, (name) => stranded === undefined || name === stranded);
    const drain = (name: string): void => {
      void world.reaches
        .get(user)
        ?.objects.modify<Node>('Node', undefined, name, 'spec', (live) => ({
          ...live,
          spec: { ...live.spec, drain: { reason: 'maintenance' } },
        }))
        .catch(() => world.wire.after(200, () => drain(name)));
    };
    world.direct = (transaction) => {
      const bound = bindingIn(transaction, 'crew');
      // Nothing of the gang is bound before it is too late for one of its holds.
      isTooLate ||= isClosed(world, stranded);
      if (bound === undefined || isTooLate) return undefined;
      if (stranded === undefined) {
        stranded = bound.node;
        if (drains) drain(stranded);
        else silence(world, `agent-${stranded}`, servers, 200_000);
      }
      return 'store.requestLost';
    };
    return () => {
      const live = liveReplicasOf(world, 'crew');
      const reasons = new Set<string>();
      let isCommittedThen = false;
      for (const { changes } of world.commits)
        for (const { key, before, after } of changes) {
          if (key === '/s/Gang/lab/crew')
            isCommittedThen ||= (after as Pick<Gang, 'status'> | undefined)?.status?.state === 'Committed';
          const [was, is] = [before, after].map(
            (value) => (value as Pick<Reservation, 'status'> | undefined)?.status,
          );
          if (key.startsWith('/s/Reservation/') && was?.state === 'Held' && is?.state === 'Released')
            reasons.add(is.reason ?? '');
        }
      return unlessSo(
        [isCommittedThen && stranded !== undefined, 'the gang was never committed, so nothing was shown'],
        [
          reasons.has(drains ? 'NodeDrains' : 'NodeLost'),
          `no hold was given up for its node; holds were for ${[...reasons].join(', ') || 'nothing'}`,
        ],
        [live.length === 2 && live.every(isUp), `both members should run: ${shownReplicas(live)}`],
        [
          live.every(({ status }) => status?.binding?.node !== stranded),
          `nobody should be on ${stranded}: ${shownReplicas(live)}`,
        ],
        [holdsIn(world).every(({ status }) => status?.state !== 'Held'), 'a hold is left'],
      );
    };
  },
  mustCheck: ['S2', 'S4', 'S5', 'S7', 'S9', 'S12', 'L3', 'L4', 'L7', 'L9'],
  mustOccur: ['partition', 'store.requestLost', 'crash'],
};

/** Whether a node takes nothing any more, as it is stored. */
function isClosed(world: World, name: string | undefined): boolean {
  if (name === undefined) return false;
  const stored = world.history.get(`/o/Node/_/${name}`) as Node | undefined;
  const account = world.history.get(nodeAccountKey(name)) as NodeAccount | undefined;
  return stored?.spec.drain !== undefined || account?.gate.state === 'Closed';
}
