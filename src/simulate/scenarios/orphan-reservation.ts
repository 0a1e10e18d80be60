import type { Replica } from '../../model/kinds/replica.js';
import type { Node } from '../../model/kinds/node.js';
import type { Actor } from '../../model/ports.js';
import { Leadership } from '../../reconcile/runtime/leadership.js';
import type { Scenario } from '../scenario.js';
import { holdsIn, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { World } from '../world/world.js';

const replicas = 2;

/** A controller that holds capacity, crashes before it has written that down, and holds it again when it is back. */
function startRecoverer(world: World, deletes: boolean): { readonly found: Set<string> } {
  const found = new Set<string>();
  const crashed = new Set<string>();
  world.addProcess('recoverer', async (life) => {
    const { objects, authority } = await world.reach(life);
    const leadership = new Leadership({
      ...{
        authority,
        objects,
        env: life.env,
        lease: 'scheduler-r',
        holder: `recoverer-${life.env.uuid().slice(0, 8)}`,
      },
    });
    await leadership.run(async ({ epoch, signal }) => {
      const actor: Actor = { kind: 'scheduler', name: 'recoverer', lease: { name: 'scheduler-r', epoch } };
      while (!signal.aborted) {
        await life.env.sleep(500);
        for (const replica of objects.list<Replica>('Replica')) {
          const { namespace: tenant = '', name, uid } = replica.metadata;
          const { stage } = replica.status ?? {};
          const target = [...objects.list<Node>('Node')][0];
          if (target?.status?.epoch === undefined || (stage !== 'Queued' && stage !== 'Scheduled')) continue;
          const proposal = {
            ...{
              actor,
              replica: { tenant, name, uid },
              node: target.metadata.name,
              nodeEpoch: target.status.epoch,
            },
            ...{ snapshotRevision: objects.version, policyRevision: 'builtin' },
          };
          // Another operation each time: that it is the same hold is known by its owner and intent.
          const outcome = await authority
            .reserve({
              ...proposal,
              operation: `recover/${uid}/${life.env.uuid()}`,
              intent: 'Recovery',
              deadlineSeconds: 60,
            })
            .catch(() => undefined);
          if (outcome?.kind === 'Committed' && !crashed.has(uid)) {
            crashed.add(uid);
            // Before anything is written down.
            return life.member.crash();
          }
          if (outcome?.kind === 'AlreadyCommitted') found.add(uid);
          if (deletes || (outcome?.kind !== 'Committed' && outcome?.kind !== 'AlreadyCommitted')) continue;
          await authority
            .bind([{ ...proposal, operation: `bind/${uid}/${epoch.number}` }])
            .catch(() => undefined);
        }
      }
    }, new AbortController().signal);
  });
  return { found };
}

function orphanReservation(name: string, deletes: boolean): Scenario {
  return {
    name,
    about: deletes
      ? 'a controller crashes after it made a reservation, and the workload is deleted: it is released, once'
      : 'a controller crashes after it made a reservation, before recording it: found again by owner and intent, no second one',
    chaosMs: 40_000,
    settleMs: 200_000,
    begin: (world) => {
      const { user } = startSmallCell(world, {
        nodes: [node('node-b7', '8')],
        wishes: [...basics('risk'), service('risk', 'risk-api', replicas, { cpu: '1' })],
        schedules: false,
      });
      const { found } = startRecoverer(world, deletes);
      if (deletes)
        world.wire.after(world.options.plan.events.length % 2 === 0 ? 12_000 : 20_000, () => {
          const reach = world.reaches.get(user);
          const workload = reach?.objects.get('Workload', 'risk', 'risk-api');
          if (workload !== undefined)
            void reach?.objects
              .delete('Workload', 'risk', 'risk-api', workload.metadata.uid)
              .catch(() => undefined);
        });
      return () => {
        const live = liveReplicasOf(world, 'risk-api');
        const released = new Map<string, number>();
        for (const { changes } of world.commits)
          for (const { key, before, after } of changes) {
            if (!key.startsWith('/s/Reservation/')) continue;
            const [was, is] = [before, after].map(
              (value) => (value as { status?: { state?: string } } | undefined)?.status?.state,
            );
            if (was === 'Held' && is !== 'Held') released.set(key, (released.get(key) ?? 0) + 1);
          }
        return deletes
          ? unlessSo([
              holdsIn(world).every(({ status }) => status?.state !== 'Held'),
              'a hold is left although its owner is gone',
            ])
          : unlessSo(
              [live.length === replicas, `wanted ${replicas} replicas; there are ${shownReplicas(live)}`],
              [
                live.every(({ status }) => status?.binding !== undefined),
                `not bound after all: ${shownReplicas(live)}`,
              ],
              [found.size > 0, 'the hold was never found again, so nothing was shown'],
            );
      };
    },
    mustCheck: ['S2', 'S3', 'S6', 'S7', 'S8', 'S9', 'L9', ...(deletes ? [] : (['L4', 'L7'] as const))],
    mustOccur: ['crash', 'store.replyLost'],
  };
}

export const orphanReservationScenarios: readonly Scenario[] = [
  orphanReservation('000-orphan-reservation', false),
  orphanReservation('000-orphan-reservation-deleted', true),
];
