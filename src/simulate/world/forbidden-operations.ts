import type { Gang } from '../../model/kinds/gang.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Actor, Authority } from '../../model/ports.js';
import {
  leaseKey,
  type LeaseRecord,
  nodeOfLease,
  slotKey,
  type SlotRecord,
  statusKey,
} from '../../model/records.js';
import { refOf } from '../../model/replica-ref.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { simulatedVersions } from '../checkers/simulated-versions.js';
import { publishForbidden } from './forbidden-publications.js';
import { type ActorKind, none, pretend } from './played-actors.js';
import type { Reach } from './server.js';
import type { Life } from './sim-process.js';
import type { World } from './world.js';

/** Things that are wrong whatever happens meanwhile: none of them may ever be committed. */
export async function doForbidden(
  world: World,
  life: Life,
  reach: Reach,
  authority: Authority,
  own: ReadonlyMap<ActorKind, Actor>,
  replicas: readonly Replica[],
  id: string,
): Promise<void> {
  const { random } = life.env;
  const replica = random.pick(replicas);
  const leases = [...reach.cache.list('Lease')]
    .map(({ object }) => object as Lease)
    .filter(({ spec }) => spec.holder !== '');
  if (leases.length === 0) return;
  const lease = random.pick(leases);
  switch (random.integer(7)) {
    case 0:
      if (nodeOfLease(lease.metadata.name) !== undefined)
        return world.mustReject(
          'S8',
          `the lease of a node, taken from ${lease.spec.holder} as if it were a leader's,`,
          authority.takeLease({
            ...{ name: lease.metadata.name, holder: 'thief', durationSeconds: 15, operation: id },
            unchangedSince: Number(lease.metadata.resourceVersion),
          }),
        );
      return world.mustReject(
        'S8',
        `a lease taken from ${lease.spec.holder} without proof`,
        authority.takeLease({
          name: lease.metadata.name,
          holder: 'thief',
          durationSeconds: 15,
          operation: id,
          ...(random.chance(0.5) && { unchangedSince: 1 }),
        }),
        // Its holder released it before the thief came: then anybody may take it.
        () => {
          const { lastTerm } = (world.history.get(leaseKey(lease.metadata.name)) ??
            {}) as Partial<LeaseRecord>;
          return lastTerm?.endedBy === lastTerm?.holder;
        },
      );
    case 1: {
      const lost = replicas.find(({ status }) => status?.stage === 'Unknown') ?? replica;
      return world.mustReject(
        'S6',
        'an eviction by an agent',
        authority.evict({
          actor: { kind: 'agent', name: 'meddler' },
          replica: refOf(lost),
          reason: 'Forbidden',
          operation: id,
        }),
      );
    }
    case 2: {
      const scheduler = pretend(life, reach, 'scheduler');
      const node = random.pick([...reach.objects.list<Node>('Node')]);
      const waiting = replicas.find(({ status }) => status?.stage === 'Queued') ?? replica;
      if (scheduler === undefined) return;
      return world.mustReject(
        'S5',
        'a bind for a replica of another uid',
        authority
          .bind([
            {
              ...{
                actor: scheduler,
                replica: { ...refOf(waiting), uid: 'another' },
                node: node.metadata.name,
                nodeEpoch: node.status?.epoch ?? none,
              },
              ...{ snapshotRevision: '1', policyRevision: 'builtin', operation: id },
            },
          ])
          .then(([outcome]) => outcome ?? { kind: 'UnknownOutcome', message: '' }),
      );
    }
    case 3: {
      const controller = pretend(life, reach, 'workload-controller');
      // Of one that has ended: nothing else would keep its slot.
      const ended = replicas.filter(({ status }) => status !== undefined && isTerminal(status.stage));
      const last = ended.length === 0 ? replica : random.pick(ended);
      const { tenant } = refOf(last);
      const { workload, slot, revision } = last.spec;
      const record = reach.cache.record(slotKey(tenant, workload, slot))?.value as SlotRecord | undefined;
      if (controller === undefined) return;
      return world.mustReject(
        'S12',
        'a replica of a workload of another uid',
        authority.incarnate({
          ...{ actor: controller, tenant, workload, workloadUid: 'another', slot, revision },
          ...{
            incarnation: (record?.incarnation ?? 0) + 1,
            stage: 'Queued',
            reason: 'Forbidden',
            operation: id,
          },
        }),
      );
    }
    case 4: {
      const gang = reach.objects.get<Gang>('Gang', 'beta', 'crew');
      const hold = [...reach.objects.list<Reservation>('Reservation')].find(
        ({ spec, status }) => spec.intent === 'Gang' && status?.state === 'Held',
      );
      const collector = pretend(life, reach, 'collector');
      if (gang?.status?.state !== 'Committed' || hold === undefined || collector === undefined) return;
      // Forbidden while its node would take its member: whether that was so a checker knows.
      await authority.releaseHold({
        ...{ actor: collector, tenant: 'beta', reservation: hold.metadata.name, uid: hold.metadata.uid },
        ...{ as: 'Released', reason: 'Forbidden', operation: id },
      });
      return;
    }
    case 5: {
      const controller = pretend(life, reach, 'endpoints-controller');
      if (controller === undefined) return;
      return publishForbidden(world, life, reach, authority, controller);
    }
    default:
      return moveFromElsewhere(
        world,
        authority,
        own,
        random.pick(replicas),
        random.pick(['Bound', 'Starting', 'Ready', 'Serving'] as const),
        id,
      );
  }
}

/** A move that is only right from one stage must have been made from that one. */
async function moveFromElsewhere(
  world: World,
  authority: Authority,
  own: ReadonlyMap<ActorKind, Actor>,
  replica: Replica,
  from: Stage,
  id: string,
): Promise<void> {
  const actor = own.get('repair-controller');
  if (actor === undefined) return;
  const { tenant, name } = refOf(replica);
  const outcome = await authority.move({
    actor,
    replica: refOf(replica),
    from,
    to: 'Unknown',
    reason: 'Guess',
    operation: id,
  });
  if (outcome.kind !== 'Committed') return;
  const { status } = (world.history.get(statusKey('Replica', tenant, name)) ?? {}) as Pick<Replica, 'status'>;
  const made = status?.transitions?.find(({ operation }) => operation === id);
  if (made !== undefined && made.from !== from)
    world.report([
      {
        rule: 'S6',
        revision: simulatedVersions.revisionOf(Number(outcome.revision)),
        message: `${name} was moved from ${made.from}; it was to be moved from ${from}`,
      },
    ]);
}
