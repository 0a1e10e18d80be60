import type { Node } from '../../model/kinds/node.js';
import { type Epoch, nodeEpochKey, type NodeEpoch, statusKey } from '../../model/records.js';
import type { Scenario } from '../scenario.js';
import { actUnderClosedEpoch } from '../world/act-under-closed-epoch.js';
import { isUp, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startHastyDetector } from '../world/hasty-detector.js';
import type { Reach } from '../world/server.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { World } from '../world/world.js';

const names = ['n1', 'n2', 'n3'] as const;
const chaosMs = 45_000;
const everyMs = 4_000;

/** [S8] Nodes that go off and are attested at once: the gate of each is still open, and nothing acts under its epoch any more. */
export const attestedNodes: Scenario = {
  name: 'attested-nodes',
  about:
    'a person switches nodes off and attests them before anybody has noticed: nothing is placed or opened under a closed epoch',
  chaosMs,
  settleMs: 200_000,
  plan: (usual) => ({
    rates: { 'store.replyLost': 0.01, 'watch.lag': usual.rates['watch.lag'] ?? 0.02 },
    events: [],
  }),
  begin: (world) => {
    const { user } = startSmallCell(world, {
      nodes: names.map((name) => node(name, '6')),
      wishes: [...basics('shop'), service('shop', 'web', 6, { cpu: '1' })],
      rivals: [
        { carelessness: 0.3, reserves: true },
        { carelessness: 0.3, reserves: true },
      ],
      exits: 0.1,
      detects: true,
    });
    startHastyDetector(world);
    const attest = (turn: number): void => {
      if (world.time.nowMs > chaosMs - everyMs) return;
      world.wire.after(everyMs, () => attest(turn + 1));
      const name = names[(turn + world.options.seed) % names.length] ?? names[0];
      const { status } = (world.history.get(statusKey('Node', undefined, name)) ?? {}) as Partial<Node>;
      const reach = world.reaches.get(user);
      if (status?.epoch === undefined || reach === undefined) return;
      world.switchOff.get(name)?.();
      void attestThenAct(world, reach, { node: name, nodeEpoch: status.epoch, turn }).catch(() => undefined);
    };
    world.wire.after(everyMs * 2, () => attest(0));
    return () => {
      const live = liveReplicasOf(world, 'web');
      const closed = world.commits.filter(({ changes }) =>
        changes.some(({ key, after }) => key.startsWith(nodeEpochKey('')) && isAttested(after)),
      );
      return unlessSo(
        [closed.length > 0, 'no node was attested, so nothing was shown'],
        [live.length === 6 && live.every(isUp), `wanted 6 replicas; there are ${shownReplicas(live)}`],
      );
    };
  },
  mustCheck: ['S4', 'S5', 'S6', 'S7', 'S8', 'L1', 'L3', 'L9'],
  mustOccur: ['watch.lag'],
  mustRefuse: ['attest.actor', 'attest.node', 'gate.actor', 'gate.node', 'bind.node'],
};

async function attestThenAct(
  world: World,
  reach: Reach,
  {
    node: name,
    nodeEpoch,
    turn,
  }: { readonly node: string; readonly nodeEpoch: Epoch; readonly turn: number },
): Promise<void> {
  const { kind } = await reach.authority.attest({
    ...{ actor: { kind: 'operator', name: 'ada' }, node: name, nodeEpoch },
    ...{ reason: 'switched off by hand', forSeconds: 1, operation: `attest/${turn}` },
  });
  if (kind === 'Committed') await actUnderClosedEpoch(world, reach, name, nodeEpoch);
}

/** A parsed boundary: only the authority writes under these keys. */
const isAttested = (after: unknown): boolean => (after as NodeEpoch | undefined)?.attestation !== undefined;
