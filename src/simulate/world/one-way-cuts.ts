import { fenceContract } from '../../model/fence-contract.js';
import type { Node } from '../../model/kinds/node.js';
import { nodeLeaseName } from '../../model/records.js';
import { isUp, liveReplicasOf, unlessSo } from './cell-facts.js';
import type { MachineNode } from './machine-node.js';
import { deafen, mute } from './silence.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

const { permitSeconds, stallSecondsMax, driftMax, windowSeconds } = fenceContract;
// The last permit was sent for before the cut: so long after it nothing fenced runs, on the slowest clock there may be (DESIGN §8).
const fencedMs = (permitSeconds / (1 - driftMax) + stallSecondsMax) * 1_000;
// Long enough that what was given up can be given to others.
export const oneWayMs = (windowSeconds + 40) * 1_000;
// What was on its way when the cut came has arrived.
const underWayMs = 10_000;

export interface OneWayCut {
  readonly world: World;
  readonly servers: readonly SimProcess[];
  readonly node: string;
  readonly machine: MachineNode;
  /** The workload of which this machine runs something that may run only once. */
  readonly workload: string;
}

/**
 * The node is heard and hears nothing: its renewals are committed, and permit nothing, because it never learns so. Its
 * fenced jobs stop in time all the same, and it says so; it is not lost. Gives what is not so.
 */
export function cutDown(cut: OneWayCut): readonly string[] {
  const { world, servers, node, workload } = cut;
  const problems: string[] = [];
  deafen(world, `agent-${node}`, servers, oneWayMs);
  expectFenced(cut, problems);
  const atMs = world.time.nowMs;
  // Just before it is over: afterwards the node is heard anyway.
  world.wire.after(oneWayMs - 1, () => {
    const late = renewalsOf(cut, atMs + fencedMs);
    problems.push(
      ...unlessSo(
        [late > 0, `${node} is heard, and its lease was not renewed`],
        // Renewals may get lost one after the other by chance: then it is late, and no more.
        [!isLost(cut), `${node} is heard, and its lease is said to have expired`],
        [
          liveReplicasOf(world, workload).every(
            (replica) => replica.status?.binding?.node !== node || !isUp(replica),
          ),
          `${node} is heard, and nobody knows that what may run only once has stopped there`,
        ],
      ),
    );
  });
  return problems;
}

/**
 * The node hears and is not heard: no renewal is committed, so none is acknowledged. Its fenced jobs stop in time, and
 * once the window is over others are made for them. Gives what is not so.
 */
export function cutUp(cut: OneWayCut): readonly string[] {
  const { world, servers, node, workload } = cut;
  const problems: string[] = [];
  mute(world, `agent-${node}`, servers, oneWayMs);
  expectFenced(cut, problems);
  const atMs = world.time.nowMs;
  world.wire.after(oneWayMs - 1, () => {
    const renewed = renewalsOf(cut, atMs + underWayMs);
    const left = liveReplicasOf(world, workload).filter(({ status }) => status?.binding?.node === node);
    problems.push(
      ...unlessSo(
        [renewed === 0, `${node} is not heard, and its lease was renewed ${renewed} times`],
        [left.length === 0, `${node} is not heard, and ${left.length} of ${workload} are still bound there`],
      ),
    );
  });
  return problems;
}

function expectFenced({ world, machine, node }: OneWayCut, problems: string[]): void {
  world.wire.after(fencedMs, () => {
    const runs = machine.fencedRuns();
    if (runs > 0) problems.push(`no renewal was acknowledged on ${node}, and ${runs} fenced jobs still run`);
  });
}

const renewalsOf = ({ world, node }: OneWayCut, fromMs: number): number =>
  world.commits.filter(
    ({ atMs, changes }) => atMs > fromMs && changes.some(({ key }) => key === `/l/${nodeLeaseName(node)}`),
  ).length;

const isLost = ({ world, node }: OneWayCut): boolean => {
  const stored = world.history.get(`/s/Node/_/${node}`) as { readonly status?: Node['status'] } | undefined;
  const reachability = stored?.status?.reachability;
  return reachability === 'Unknown' || reachability === 'Lost';
};
