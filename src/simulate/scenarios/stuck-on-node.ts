import type { Scenario } from '../scenario.js';
import { startAsker } from '../world/asker.js';
import { bindingIn, onceBound } from '../world/bound-replica.js';
import { unlessSo } from '../world/cell-facts.js';
import { noFaults } from '../world/fault-plan.js';
import { startSessionNode } from '../world/session-node.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { wish } from '../world/wish.js';

const askedAtMs = 75_000;

/** The other three causes of lesson 003: beyond the binding a replica may be stuck at the node, at its word, or at repair. */
export const stuckOnNode: Scenario = {
  name: '003-stuck-replica-on-node',
  about:
    'replicas that are bound and do not come: the node starts it slowly, its word does not arrive, repair waits for a human; each has its own answer',
  chaosMs: 130_000,
  settleMs: 150_000,
  plan: () => noFaults,
  begin: (world) => {
    const only = (zone: string) => ({ placement: { zones: [zone] } });
    const { servers, user } = startSmallCell(world, {
      nodes: [],
      wishes: [
        ...basics('fraud').filter(({ kind }) => kind !== 'Region'),
        wish('Region', undefined, 'eu-central', { jurisdiction: 'EU', zones: ['a', 'b', 'c'] }),
        service('fraud', 'starting', 1, { cpu: '1' }, only('a')),
        service(
          'fraud',
          'lost',
          1,
          { cpu: '1' },
          { ...only('c'), onNodeLost: { action: 'Wait', afterSeconds: 41 } },
        ),
      ],
      detects: true,
    });
    startSessionNode(world, servers, node('node-a', '4'), { startSeconds: [100, 101] });
    startSessionNode(world, servers, node('node-b', '4', { zone: 'b' }));
    startSessionNode(world, servers, node('node-c', '4', { zone: 'c' }));
    onceBound(world, 'lost', () =>
      world.wire.after(5_000, () => silence(world, 'agent-node-c', servers, askedAtMs + 20_000)),
    );
    // Bound just before its node falls silent: nobody knows yet whether it was started.
    let isSilenced = false;
    world.direct = (transaction) => {
      if (!isSilenced && bindingIn(transaction, 'unreported') !== undefined) {
        isSilenced = true;
        silence(world, 'agent-node-b', servers, 25_000);
      }
      return undefined;
    };
    world.wire.after(askedAtMs - 15_000, () => {
      const late = service('fraud', 'unreported', 1, { cpu: '1' }, only('b'));
      void world.reaches.get(user)?.objects.create('Workload', 'fraud', late);
    });
    const names = ['starting-0-1', 'unreported-0-1', 'lost-0-1'];
    const answers = startAsker(
      world,
      askedAtMs,
      names.map((name) => ({ kind: 'Replica', tenant: 'fraud', name })),
    );
    return () => {
      const [starting, unreported, lost] = names.map((name) => answers.get(name));
      const told = names.map((name) => answers.get(name)?.answer ?? 'no answer');
      return unlessSo(
        [new Set(told).size === 3, `three different answers are wanted: ${told.join(' | ')}`],
        [/is being started on node-a/.test(told[0] ?? ''), `starting: ${starting?.answer}`],
        [/has not reported a start/.test(told[1] ?? ''), `unreported: ${unreported?.answer}`],
        [unreported?.nextMove === 'agent:node-b', `it is not the move of ${unreported?.nextMove}`],
        [/unknown fate/.test(told[2] ?? ''), `lost: ${lost?.answer}`],
        [
          lost?.notes.some((note) => note.startsWith('NeedsHuman')) === true,
          `nobody is asked for: ${lost?.notes.join('; ')}`,
        ],
      );
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'L1', 'L3', 'L5', 'L6', 'L9'],
  mustOccur: ['partition'],
};
