import type { Replica } from '../../model/kinds/replica.js';
import type { Node } from '../../model/kinds/node.js';
import type { BerthObject } from '../../model/object.js';
import type { Actor } from '../../model/ports.js';
import { objectKey } from '../../model/records.js';
import { Leadership } from '../../reconcile/runtime/leadership.js';
import type { Scenario } from '../scenario.js';
import { holdsIn, liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { SimProcess } from '../world/sim-process.js';
import type { World } from '../world/world.js';

const replicas = 2;

/** What happens after the crash: it is found again, its workload is deleted, or nobody comes back to it. */
type After = 'Found' | 'Deleted' | 'Forgotten';

/** A controller that holds capacity, crashes before it has written that down, and holds it again when it is back. */
function startRecoverer(world: World, after: After): { readonly found: Set<string> } {
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
          const isForgotten = after === 'Forgotten' && crashed.has(uid);
          if (isForgotten && stage === 'Scheduled') continue;
          const proposal = {
            ...{
              actor,
              replica: { tenant, name, uid },
              node: target.metadata.name,
              nodeEpoch: target.status.epoch,
            },
            ...{ snapshotRevision: objects.version, policyRevision: 'builtin' },
          };
          const bind = () =>
            authority
              .bind([{ ...proposal, operation: `bind/${uid}/${epoch.number}` }])
              .catch(() => undefined);
          if (isForgotten) {
            await bind();
            continue;
          }
          // Another operation each time: that it is the same hold is known by its owner and intent.
          const outcome = await authority
            .reserve({
              ...proposal,
              operation: `recover/${uid}/${life.env.uuid()}`,
              intent: 'Recovery',
              deadlineSeconds: after === 'Forgotten' ? forgottenSeconds : 60,
            })
            .catch(() => undefined);
          if (outcome?.kind === 'Committed' && !crashed.has(uid)) {
            crashed.add(uid);
            // Before anything is written down.
            return life.member.crash();
          }
          if (outcome?.kind === 'AlreadyCommitted') found.add(uid);
          if (after === 'Found' && (outcome?.kind === 'Committed' || outcome?.kind === 'AlreadyCommitted'))
            await bind();
        }
      }
    }, new AbortController().signal);
  });
  return { found };
}

const forgottenSeconds = 20;

const abouts: Readonly<Record<After, string>> = {
  Found:
    'a controller crashes after it made a reservation, before recording it: found again by owner and intent, no second one',
  Deleted:
    'a controller crashes after it made a reservation, and the workload is deleted: it is released, once',
  Forgotten:
    'a controller crashes after it made a reservation, and nobody comes back to it: it expires at its deadline, once, and its owner is placed',
};

/** As often as it takes: a request may be lost. */
function deleteWorkload(world: World, user: SimProcess): void {
  const stored = world.history.get(objectKey('Workload', 'risk', 'risk-api')) as BerthObject | undefined;
  if (stored !== undefined && stored.metadata.deletionTimestamp === undefined)
    void world.reaches
      .get(user)
      ?.objects.delete('Workload', 'risk', 'risk-api', stored.metadata.uid)
      .catch(() => undefined);
  world.wire.after(500, () => deleteWorkload(world, user));
}

/** When each hold was made, and when it ended: once, if all is well. */
function holdTimes(
  world: World,
): ReadonlyMap<
  string,
  { readonly fromMs: number; readonly ends: readonly { state: string; atMs: number }[] }
> {
  const times = new Map<string, { fromMs: number; ends: { state: string; atMs: number }[] }>();
  for (const { changes, atMs } of world.commits)
    for (const { key, before, after } of changes) {
      if (!key.startsWith('/s/Reservation/') || after === undefined) continue;
      const [was, is] = [before, after].map(
        (value) => (value as { status?: { state?: string } } | undefined)?.status?.state,
      );
      // A hold that is made anew has the name of the last one.
      if (is === 'Held' && was !== 'Held') times.set(`${key} ${atMs}`, { fromMs: atMs, ends: [] });
      if (was === 'Held' && is !== 'Held')
        [...times]
          .findLast(([name]) => name.startsWith(`${key} `))?.[1]
          .ends.push({ state: is ?? 'gone', atMs });
    }
  return times;
}

function orphanReservation(name: string, after: After): Scenario {
  return {
    name,
    about: abouts[after],
    chaosMs: 40_000,
    settleMs: 200_000,
    begin: (world) => {
      const { user } = startSmallCell(world, {
        nodes: [node('node-b7', '8')],
        wishes: [...basics('risk'), service('risk', 'risk-api', replicas, { cpu: '1' })],
        schedules: false,
      });
      const { found } = startRecoverer(world, after);
      if (after === 'Deleted')
        world.wire.after(world.options.plan.events.length % 2 === 0 ? 12_000 : 20_000, () =>
          deleteWorkload(world, user),
        );
      return () => {
        const live = liveReplicasOf(world, 'risk-api');
        const times = [...holdTimes(world).values()];
        if (after === 'Deleted')
          return unlessSo([
            holdsIn(world).every(({ status }) => status?.state !== 'Held'),
            'a hold is left although its owner is gone',
          ]);
        const expired = times.flatMap(({ fromMs, ends }) =>
          ends.filter(({ state }) => state === 'Expired').map(({ atMs }) => (atMs - fromMs) / 1_000),
        );
        return unlessSo(
          [live.length === replicas, `wanted ${replicas} replicas; there are ${shownReplicas(live)}`],
          [
            live.every(({ status }) => status?.binding !== undefined),
            `not bound after all: ${shownReplicas(live)}`,
          ],
          [times.every(({ ends }) => ends.length === 1), 'a hold was ended not at all, or more than once'],
          [after !== 'Found' || found.size > 0, 'the hold was never found again, so nothing was shown'],
          [after !== 'Forgotten' || expired.length > 0, 'no hold expired, so nothing was shown'],
          [
            expired.every((seconds) => seconds >= forgottenSeconds * 0.99),
            `a hold expired after ${Math.min(...expired)} s, which is too early`,
          ],
        );
      };
    },
    mustCheck: [
      ...(['S2', 'S3', 'S6', 'S7', 'S8', 'S9', 'L9'] as const),
      ...(after === 'Deleted' ? [] : (['L4', 'L7'] as const)),
      ...(after === 'Forgotten' ? (['L5'] as const) : []),
    ],
    mustOccur: ['crash', 'store.replyLost'],
  };
}

export const orphanReservationScenarios: readonly Scenario[] = [
  orphanReservation('000-orphan-reservation', 'Found'),
  orphanReservation('000-orphan-reservation-deleted', 'Deleted'),
  orphanReservation('000-orphan-reservation-forgotten', 'Forgotten'),
];
