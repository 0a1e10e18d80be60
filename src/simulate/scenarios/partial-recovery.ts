import type { Workload } from '../../model/kinds/workload.js';
import type { HollowProfile } from '../../agent/drivers/hollow-profile.js';
import type { Scenario } from '../scenario.js';
import { onceBound } from '../world/bound-replica.js';
import { isUp, liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { startSessionNode } from '../world/session-node.js';
import { silence } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';

const replicas = 4;
const slow: Partial<HollowProfile> = { startSeconds: [55, 65] };

interface Variant {
  readonly name: string;
  readonly about: string;
  readonly profiles: readonly [Partial<HollowProfile>, Partial<HollowProfile>];
  /** The second node falls silent as soon as something is bound to it. */
  readonly goesBad: boolean;
  readonly limitedBy: string | undefined;
}

const variants: readonly Variant[] = [
  {
    name: '000-partial-recovery',
    about: '2 of 4 are ready and the others pull: progress names what limits it, and nothing is added',
    ...{ profiles: [{}, slow], goesBad: false, limitedBy: 'NodeStart' },
  },
  {
    name: '000-partial-recovery-pulling',
    about: '4 of 4 are bound and pulling: progress names what limits it, and nothing is added',
    ...{ profiles: [slow, slow], goesBad: false, limitedBy: 'NodeStart' },
  },
  {
    name: '000-partial-recovery-node-bad',
    about: '2 of 4 are bound on a node gone bad: repair touches those two and no others',
    ...{ profiles: [{}, slow], goesBad: true, limitedBy: undefined },
  },
];

export const partialRecoveryScenarios: readonly Scenario[] = variants.map(
  ({ name, about, profiles, goesBad, limitedBy }): Scenario => ({
    ...{ name, about },
    chaosMs: goesBad ? 120_000 : 85_000,
    settleMs: 220_000,
    plan: (usual) => ({
      rates: { 'store.replyLost': usual.rates['store.replyLost'] ?? 0, 'network.replyLost': 0.02 },
      events: [],
    }),
    begin: (world) => {
      const zones = { zones: ['a', 'b'] };
      const { servers } = startSmallCell(world, {
        nodes: [],
        wishes: [
          ...basics('risk'),
          service(
            'risk',
            'risk-api',
            replicas,
            { cpu: '1' },
            { placement: { ...zones, spread: [{ topology: 'Zone', maxSkew: 1 }] } },
          ),
        ],
        detects: true,
      });
      startSessionNode(world, servers, node('west-1', '8'), profiles[0]);
      startSessionNode(world, servers, node('west-2', '8', { zone: 'b' }), profiles[1]);
      // Room for what is lost.
      if (goesBad) startSessionNode(world, servers, node('west-3', '8', { zone: 'b' }));
      const bad = { node: '', kept: [] as string[] };
      if (goesBad)
        onceBound(world, 'risk-api', (first) => {
          bad.node = first;
          world.wire.after(200, () => silence(world, `agent-${first}`, servers, 100_000));
        });
      let told: NonNullable<Workload['status']>['progress'];
      let mostReplicas = 0;
      const look = (): void => {
        const { status } = (world.history.get('/s/Workload/risk/risk-api') ?? {}) as Workload;
        if (world.time.nowMs < 45_000) told = status?.progress;
        if (!goesBad) mostReplicas = Math.max(mostReplicas, replicasOf(world, 'risk-api').length);
        world.wire.after(1_000, look);
      };
      look();
      return () => {
        const all = replicasOf(world, 'risk-api');
        const live = liveReplicasOf(world, 'risk-api');
        const moved = all.filter(({ spec }) => spec.incarnation > 1);
        const touched = all.filter(({ status }) => status?.transitions?.some(({ to }) => to === 'Unknown'));
        return unlessSo(
          [live.length === replicas, `wanted ${replicas}: ${shownReplicas(live)}`],
          [live.every(isUp), `not all are up: ${shownReplicas(live)}`],
          [mostReplicas <= replicas, `${mostReplicas} replicas were made; ${replicas} were wanted`],
          [
            limitedBy === undefined || told?.limitedBy === limitedBy,
            `limited by ${told?.limitedBy} for ${told?.reason}, not by ${limitedBy}`,
          ],
          [
            !goesBad || touched.every(({ status }) => status?.binding?.node === bad.node),
            `repair touched others than those on ${bad.node}: ${shownReplicas(touched)}`,
          ],
          [
            !goesBad || moved.length === touched.length,
            `${touched.length} were lost: ${shownReplicas(moved)}`,
          ],
          [!goesBad || touched.length > 0, 'nothing was lost, so nothing was shown'],
        );
      };
    },
    mustCheck: [
      ...(['S2', 'S5', 'S6', 'S7', 'S12', 'L1', 'L4', 'L6', 'L9'] as const),
      ...(goesBad ? (['L3', 'L5'] as const) : []),
    ],
    mustOccur: goesBad ? ['partition'] : ['network.replyLost'],
  }),
);
