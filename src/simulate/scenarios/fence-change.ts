import { fenceContract } from '../../model/fence-contract.js';
import { fenceKey, type StoredFence } from '../../model/records.js';
import { shownMs } from '../checkers/shown-ms.js';
import type { Scenario } from '../scenario.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startFenceOperator, startHastySettler } from '../world/fence-operator.js';
import { type MachineNode, startMachineNode } from '../world/machine-node.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { whenSo } from '../world/when-so.js';
import type { World } from '../world/world.js';

const names = ['n1', 'n2', 'n3'] as const;
const short = { ...fenceContract, permitSeconds: 40, windowSeconds: 50 };
// Usually it is made shorter after half a minute; by then what it is about may not run yet, and is waited for.
const usuallyMs = 30_000;
const waitMsMax = 60_000;
// From then on. What was permitted for long has run out, and the smaller window is in force.
const cutAgainMs = 190_000;
const movedMs = cutAgainMs + 90_000;

/** The fence of a cell is made shorter while jobs run that were permitted for longer, and longer again. */
export const fenceChange: Scenario = {
  name: 'fence-change',
  about:
    'the fence is made shorter as a node is cut off that was permitted more: the old window counts until that has run out',
  chaosMs: usuallyMs + waitMsMax + movedMs + 20_000,
  settleMs: 200_000,
  plan: (usual) => ({
    rates: { 'network.requestLost': 0.01, 'network.replyLost': usual.rates['network.replyLost'] ?? 0 },
    events: [],
  }),
  begin: (world) => {
    const { servers } = startSmallCell(world, {
      nodes: [],
      wishes: [...basics('risk'), service('risk', 'once', 1, { cpu: '1' }, {}, { execution: 'AtMostOne' })],
      detects: true,
    });
    const machines = names.map((name, index) =>
      startMachineNode(world, servers, node(name, '2', { zone: index === 0 ? 'a' : 'b' })),
    );
    let loweredAtMs = Number.POSITIVE_INFINITY;
    const isPast = (ms: number) => () => world.time.nowMs >= loweredAtMs + ms;
    startFenceOperator(world, [
      { isDue: isPast(0), fence: short },
      { isDue: isPast(movedMs), fence: fenceContract },
    ]);
    startHastySettler(world);
    const problems: string[] = [];
    const cutOff = (forMs: number): string | undefined => {
      const name = runsOnce(machines);
      if (name === undefined) problems.push(`nothing runs once at ${shownMs(world.time.nowMs)}`);
      else silence(world, `agent-${name}`, servers, forMs);
      return name;
    };
    // Just before: the last renewal that it hears of is one under the longer permit.
    const beforeMs = 1 + (world.options.seed % 4) * 500;
    const begin = (): void => {
      cutOff(170_000);
      loweredAtMs = world.time.nowMs + beforeMs;
      world.wire.after(beforeMs + cutAgainMs, cutAgain);
    };
    const cutAgain = (): void => {
      const { windowSeconds } = fenceOf(world);
      if (windowSeconds !== short.windowSeconds) problems.push(`the window is still ${windowSeconds} s`);
      const name = cutOff(90_000);
      world.wire.after(movedMs - cutAgainMs - 1, () => {
        const left = liveReplicasOf(world, 'once').filter(({ status }) => status?.binding?.node === name);
        if (left.length > 0) problems.push(`not moved within the smaller window: ${shownReplicas(left)}`);
      });
    };
    world.wire.after(usuallyMs - beforeMs, () =>
      whenSo(world, () => runsOnce(machines) !== undefined, begin),
    );
    return () => {
      const live = liveReplicasOf(world, 'once');
      const { windowSeconds } = fenceOf(world);
      return [
        ...problems,
        ...unlessSo(
          [Number.isFinite(loweredAtMs), 'nothing ever ran, so nothing was shown'],
          [live.length === 1, `wanted one that runs once; there are ${shownReplicas(live)}`],
          [windowSeconds === fenceContract.windowSeconds, `the window is ${windowSeconds} s at the end`],
        ),
      ];
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S8', 'S12', 'L1'],
  mustOccur: ['partition'],
  mustRefuse: ['settleFence.actor'],
};

const runsOnce = (machines: readonly MachineNode[]): string | undefined =>
  names.find((_, index) => (machines[index]?.fencedRuns() ?? 0) > 0);

/** A parsed boundary: only the authority writes under this key. */
const fenceOf = (world: World): Pick<StoredFence, 'windowSeconds'> =>
  (world.history.get(fenceKey) as StoredFence | undefined) ?? fenceContract;
