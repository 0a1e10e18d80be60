import type { Node } from '../../model/kinds/node.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Scenario } from '../scenario.js';
import { replicasOf, unlessSo } from '../world/cell-facts.js';
import { ignoresStop } from '../world/computer.js';
import { noFaults } from '../world/fault-plan.js';
import { neverPath, startMachineNode } from '../world/machine-node.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { SimProcess } from '../world/sim-process.js';
import { wish } from '../world/wish.js';
import type { World } from '../world/world.js';

// One of them has nothing to run: with so few silent nodes no brake holds repair back.
const zones = ['machine', 'mute', 'lost', 'attested', 'drained', 'short', 'spare'] as const;
type Zone = (typeof zones)[number];
const inZone = (zone: Zone) => ({ placement: { zones: [zone] } });
const startsWithin = { startDeadlineSeconds: 20 };

const wishes = [
  ...basics('risk').filter(({ kind }) => kind !== 'Region'),
  wish('Region', undefined, 'eu-central', { jurisdiction: 'EU', zones }),
  service('risk', 'api', 1, { cpu: '1' }, inZone('machine'), { minReadySeconds: 6 }),
  service('risk', 'stubborn', 1, { cpu: '1' }, inZone('machine'), {
    run: { process: { command: ['work', ignoresStop] } },
    terminationGraceSeconds: 10,
  }),
  service('risk', 'never-ready', 1, { cpu: '1', ports: ['http'] }, inZone('machine'), {
    ...startsWithin,
    readiness: { http: { path: neverPath, port: 'http' }, periodSeconds: 2 },
  }),
  service('risk', 'unreported', 1, { cpu: '1' }, inZone('mute'), startsWithin),
  service('risk', 'slow', 1, { cpu: '1' }, inZone('mute'), startsWithin),
  service('risk', 'deaf', 1, { cpu: '1' }, inZone('mute'), { terminationGraceSeconds: 8 }),
  service('risk', 'anew', 1, { cpu: '1' }, inZone('lost')),
  service(
    'risk',
    'waits',
    1,
    { cpu: '1' },
    { ...inZone('lost'), onNodeLost: { action: 'Wait', afterSeconds: 60 } },
  ),
  service('risk', 'once', 1, { cpu: '1' }, inZone('lost'), { execution: 'AtMostOne' }),
  service('risk', 'pinned', 1, { cpu: '1' }, { ...inZone('drained'), disruption: { maxUnavailable: 0 } }),
  service(
    'risk',
    'hasty',
    1,
    { cpu: '1' },
    { ...inZone('short'), onNodeLost: { action: 'Replace', afterSeconds: 16 } },
  ),
];

// The stages of these workloads at which agents neither act nor report.
const ignores = {
  unreported: ['Bound', 'Unknown', 'Releasing'],
  slow: ['Starting', 'Unknown', 'Releasing'],
  deaf: ['Releasing', 'Unknown'],
} as const;

/** [L5] Each duration that is promised runs out at least once, while nothing else goes wrong. */
export const durations: Scenario = {
  name: 'durations',
  about:
    'a cell in which each duration that is promised runs out: starts, stops, silences, drains, words of humans; no conclusion is drawn earlier',
  chaosMs: 250_000,
  settleMs: 200_000,
  plan: () => noFaults,
  begin: (world) => {
    const { servers, user } = startSmallCell(world, {
      nodes: zones
        .filter((zone) => zone !== 'machine')
        .map((zone) => node(zone, '4', { zone, ...(zone === 'short' && { leaseSeconds: 15 }) })),
      wishes,
      detects: true,
      ignores,
      lookMs: 1_500,
    });
    startMachineNode(world, servers, node('machine', '4', { zone: 'machine' }));
    const hands = handsOf(world, user);
    world.wire.after(10_000, () => hands.drain('drained', 20));
    world.wire.after(15_000, () => silence(world, 'agent-attested', servers, 120_000));
    world.wire.after(20_000, () => {
      world.switchOff.get('attested')?.();
      hands.attest('attested', 40);
    });
    world.wire.after(30_000, () => {
      silence(world, 'agent-lost', servers, 240_000);
      for (const name of ['deaf', 'stubborn']) hands.scaleDown(name);
    });
    // For so long nobody publishes endpoints.
    world.wire.after(60_000, () => {
      const atMs = world.time.nowMs;
      world.direct = ({ writes }) =>
        world.time.nowMs < atMs + 40_000 && writes.some(({ key }) => key.startsWith('/s/Endpoints/'))
          ? 'store.requestLost'
          : undefined;
      hands.scaleDown('api');
    });
    world.wire.after(170_000, () => silence(world, 'agent-short', servers, 60_000));
    // Otherwise the backoff of its slot would last longer than the settling of the cell.
    world.wire.after(200_000, () => hands.scaleDown('never-ready'));
    const reasons = new Set<string>();
    world.wire.after(195_000, () => {
      for (const { status } of replicasOf(world, 'never-ready'))
        for (const { reason } of status?.transitions ?? []) reasons.add(reason);
    });
    return () =>
      unlessSo([
        reasons.has('StartDeadlinePassed') && !reasons.has('StartOverdue'),
        `an agent fails what is not ready in time; here ${[...reasons].join(', ')}`,
      ]);
  },
  mustCheck: ['S5', 'S6', 'S10', 'L3', 'L5', 'L9'],
  mustOccur: ['partition', 'store.requestLost'],
};

/** People who do things, each of which is tried until it is done. */
function handsOf(world: World, user: SimProcess) {
  const until = (
    act: (reach: NonNullable<ReturnType<World['reaches']['get']>>) => Promise<unknown>,
  ): void => {
    const reach = world.reaches.get(user);
    const again = (): void => void world.wire.after(1_000, () => until(act));
    if (reach === undefined || reach.life.isOver) return again();
    act(reach).catch(again);
  };
  return {
    scaleDown: (name: string) =>
      until(({ objects }) =>
        objects.modify<Workload>('Workload', 'risk', name, 'spec', (live) => ({
          ...live,
          spec: { ...live.spec, replicas: 0 },
        })),
      ),
    drain: (name: string, deadlineSeconds: number) =>
      until(({ objects }) =>
        objects.modify<Node>('Node', undefined, name, 'spec', (live) => ({
          ...live,
          spec: { ...live.spec, drain: { reason: 'maintenance', deadlineSeconds } },
        })),
      ),
    attest: (name: string, forSeconds: number) =>
      until(async ({ authority }) => {
        const stored = world.history.get(`/s/Node/_/${name}`) as Pick<Node, 'status'> | undefined;
        const nodeEpoch = stored?.status?.epoch;
        if (nodeEpoch === undefined) throw new Error(`${name} has not registered`);
        await authority.attest({
          ...{ actor: { kind: 'operator', name: 'ada' }, node: name, nodeEpoch, forSeconds },
          ...{ reason: 'switched off by hand', operation: 'attest/1' },
        });
      }),
  };
}
