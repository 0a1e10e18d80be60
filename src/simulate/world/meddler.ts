import { fenceContract } from '../../model/fence-contract.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Actor, Authority, Outcome, ReplicaRef } from '../../model/ports.js';
import {
  type Epoch,
  leaseKey,
  type LeaseRecord,
  nodeLeaseName,
  slotKey,
  type SlotRecord,
  statusKey,
} from '../../model/records.js';
import { stages, type Stage } from '../../model/stages.js';
import type { Life, SimProcess } from './sim-process.js';
import type { Reach } from './server.js';
import type { World } from './world.js';

type ActorKind = Actor['kind'];

/** The actors it plays under leases of its own. */
const played = ['detector', 'repair-controller', 'drain', 'rollout', 'endpoints-controller'] as const;
/** Those it only pretends to be, under whatever epoch it has seen of them, also long after. */
const pretended = ['scheduler', 'workload-controller', 'collector', 'grant-controller'] as const;

/**
 * Plays the controllers that are not there yet, and one that has lost its mind: right and wrong operations in any
 * order, under epochs that are over, on replicas that have gone on, on nodes that are not theirs. The one thing it
 * never lies about is time: that a fence has expired it says only when it has.
 */
class Meddler {
  readonly member: SimProcess;
  readonly #seenLeases = new Map<string, { readonly version: number; readonly sinceMs: number }>();

  constructor(
    private readonly world: World,
    private readonly servers: readonly SimProcess[],
    private readonly pace: { readonly everyMs: number },
  ) {
    this.member = world.addProcess('meddler', (life) => this.#main(life));
  }

  async #main(life: Life): Promise<void> {
    const reach = await this.world.reach(life);
    const authority = this.world.remoteAuthority(life, this.servers);
    const own = new Map<ActorKind, Actor>();
    const past: Actor[] = [];
    for (let turn = 0; ; turn++) {
      await life.env.sleep(this.pace.everyMs / 2 + life.env.random.integer(this.pace.everyMs));
      this.#watchLeases(reach);
      for (const kind of played) {
        const actor = own.get(kind);
        if (actor !== undefined && (this.world.faults.isStopped || !life.env.random.chance(0.01))) continue;
        const taken = await this.#take(life, authority, reach, kind);
        if (taken === undefined) continue;
        if (actor !== undefined) past.push(actor);
        own.set(kind, taken);
      }
      const act = this.world.faults.isStopped
        ? this.#helpOut(reach, authority, own)
        : this.#meddle(life, reach, authority, own, past);
      await act.catch(() => undefined);
      if (this.world.faults.isStopped) await life.env.sleep(3_000);
    }
  }

  async #take(
    life: Life,
    authority: Authority,
    { objects }: Reach,
    kind: (typeof played)[number],
  ): Promise<Actor | undefined> {
    const seen = objects.get('Lease', undefined, kind);
    const outcome = await authority
      .takeLease({
        ...{
          name: kind,
          holder: 'meddler',
          durationSeconds: 15,
          operation: `take/${kind}/${life.env.uuid()}`,
        },
        ...(seen !== undefined && { unchangedSince: Number(seen.metadata.resourceVersion) }),
      })
      .catch(() => undefined);
    if (outcome?.kind !== 'Committed') return undefined;
    return { kind, name: 'meddler', lease: { name: kind, epoch: outcome.result.epoch } };
  }

  /** Since when each node's lease has stood as it is, by the clock of the world. */
  #watchLeases({ cache }: Reach): void {
    for (const { object } of cache.list('Lease')) {
      const version = Number(object.metadata.resourceVersion);
      if (this.#seenLeases.get(object.metadata.name)?.version !== version)
        this.#seenLeases.set(object.metadata.name, { version, sinceMs: this.world.time.nowMs });
    }
  }

  /** When faults have stopped: what the missing controllers would do, so that the cell can settle. */
  async #helpOut(
    { objects }: Reach,
    authority: Authority,
    own: ReadonlyMap<ActorKind, Actor>,
  ): Promise<void> {
    const detector = own.get('detector');
    for (const node of objects.list<Node>('Node')) {
      const epoch = node.status?.epoch;
      if (detector === undefined || epoch === undefined || node.status?.reachability === 'Fresh') continue;
      await authority.gate({
        actor: detector,
        node: node.metadata.name,
        nodeEpoch: epoch,
        reachability: 'Fresh',
        reason: 'Heard',
        operation: `gate/${node.metadata.name}`,
      });
    }
    const endpoints = own.get('endpoints-controller');
    for (const replica of objects.list<Replica>('Replica'))
      if (replica.status?.stage === 'Ready' && endpoints !== undefined)
        await this.#move(authority, endpoints, replica, 'Serving', 'calm');
  }

  async #meddle(
    life: Life,
    reach: Reach,
    authority: Authority,
    own: ReadonlyMap<ActorKind, Actor>,
    past: readonly Actor[],
  ): Promise<void> {
    const { random } = life.env;
    const replicas = [...reach.objects.list<Replica>('Replica')];
    const nodes = [...reach.objects.list<Node>('Node')];
    if (replicas.length === 0 || nodes.length === 0) return;
    const replica = random.pick(replicas);
    const node = random.pick(nodes);
    const id = life.env.uuid();
    const anyActor = (): Actor => this.#anyActor(life, reach, own, past);
    const actorOf = (kind: ActorKind): Actor => own.get(kind) ?? { kind, name: 'meddler' };
    const at = (...wanted: readonly Stage[]): Replica => {
      const those = replicas.filter(({ status }) => wanted.includes(status?.stage ?? 'Queued'));
      return those.length === 0 || random.chance(0.2) ? replica : random.pick(those);
    };
    if (random.chance(0.3)) return this.#doForbidden(life, reach, authority, own, replicas, id);
    const ref = refOf(replica);
    switch (random.integer(16)) {
      case 0: {
        const reachability = random.pick(['Fresh', 'Suspect', 'Lost'] as const);
        const actor = random.chance(0.8) ? actorOf('detector') : anyActor();
        await authority.gate({
          actor,
          node: node.metadata.name,
          nodeEpoch: node.status?.epoch ?? none,
          reachability,
          reason: 'Guessed',
          operation: id,
        });
        return;
      }
      case 1:
      case 2: {
        const kind = random.pick(['drain', 'rollout', 'user'] as const);
        await authority.evict({
          actor: random.chance(0.8) ? actorOf(kind) : anyActor(),
          replica: refOf(at('Ready', 'Serving')),
          reason: 'Meddling',
          operation: id,
        });
        return;
      }
      case 3:
      case 4: {
        const lost = at('Bound', 'Starting', 'Ready', 'Serving');
        await this.#move(
          authority,
          random.chance(0.8) ? actorOf('repair-controller') : anyActor(),
          lost,
          'Unknown',
          id,
        );
        // Replaced at once, before its agent has said that it is still there.
        if (random.chance(0.6)) await this.#incarnate(life, authority, reach, lost, `${id}/next`);
        return;
      }
      case 5:
        await this.#move(
          authority,
          actorOf('endpoints-controller'),
          replica,
          replica.status?.stage === 'Ready' ? 'Serving' : 'Ready',
          id,
        );
        return;
      case 6:
        // Any edge, by anybody.
        await authority.move({
          actor: anyActor(),
          replica: ref,
          from: random.chance(0.7) ? (replica.status?.stage ?? 'Queued') : random.pick(stages),
          to: random.pick(stages),
          reason: 'Meddling',
          operation: id,
        });
        return;
      case 7:
        await this.#release(
          life,
          authority,
          reach,
          random.chance(0.7) ? actorOf('repair-controller') : anyActor(),
          at('Unknown', 'Releasing'),
          id,
        );
        return;
      case 8:
      case 9:
        await this.#incarnate(life, authority, reach, at('Unknown', 'Releasing', 'Failed'), id);
        return;
      case 10:
        await this.#forget(life, authority, reach, at('Failed', 'Succeeded', 'Released'), id);
        return;
      case 11: {
        const holds = [...reach.objects.list<Reservation>('Reservation')];
        if (holds.length === 0) return;
        const hold = random.pick(holds);
        await authority.releaseHold({
          actor: anyActor(),
          tenant: hold.metadata.namespace ?? '',
          reservation: hold.metadata.name,
          uid: hold.metadata.uid,
          as: random.pick(['Released', 'Expired'] as const),
          reason: 'Meddling',
          operation: id,
        });
        return;
      }
      case 12: {
        // A lease it has no right to, or one of its own under an epoch that is over.
        const name = random.pick([...played, ...pretended]);
        if (random.chance(0.5))
          await authority.takeLease({
            name,
            holder: 'meddler',
            durationSeconds: 15,
            operation: id,
            ...(random.chance(0.5) && { unchangedSince: 1 + random.integer(50) }),
          });
        else
          await authority.renew({ name, holder: 'meddler', epoch: random.pick(past)?.lease?.epoch ?? none });
        return;
      }
      case 13:
        await this.#bind(life, authority, anyActor(), replica, node, replicas, id);
        return;
      case 14: {
        const actor = this.#pretend(life, reach, 'grant-controller');
        if (actor !== undefined)
          await authority.grant({ actor, tenant: random.pick(['alpha', 'beta']), operation: id });
        return;
      }
      default: {
        const gang = reach.objects.get<Gang>('Gang', 'beta', 'crew');
        const state = gang?.status?.state ?? 'Waiting';
        const next = {
          Waiting: 'Reserving',
          Reserving: 'Released',
          Released: 'Waiting',
          Committed: 'Released',
        } as const;
        await authority.moveGang({
          actor: this.#pretend(life, reach, 'scheduler') ?? anyActor(),
          ...{ tenant: 'beta', gang: 'crew', uid: gang?.metadata.uid ?? '' },
          to: random.chance(0.7)
            ? next[state]
            : random.pick(['Waiting', 'Reserving', 'Committed', 'Released'] as const),
          operation: id,
        });
      }
    }
  }

  /** Things that are wrong whatever happens meanwhile: none of them may ever be committed. */
  async #doForbidden(
    life: Life,
    reach: Reach,
    authority: Authority,
    own: ReadonlyMap<ActorKind, Actor>,
    replicas: readonly Replica[],
    id: string,
  ): Promise<void> {
    const { random } = life.env;
    const { world } = this;
    const replica = random.pick(replicas);
    const ref = refOf(replica);
    const actors = [...own.values(), ...pretended.map((kind) => this.#pretend(life, reach, kind))];
    const actor = random.pick(actors.filter((one) => one?.lease !== undefined));
    const leases = [...reach.cache.list('Lease')]
      .map(({ object }) => object as Lease)
      .filter(({ spec }) => spec.holder !== '');
    if (actor?.lease === undefined || leases.length === 0) return;
    const lease = random.pick(leases);
    const before = (epoch: Epoch): Epoch => ({ ...epoch, number: epoch.number - 1 });
    switch (random.integer(9)) {
      case 0:
      case 1: {
        const stale: Actor = { ...actor, lease: { ...actor.lease, epoch: before(actor.lease.epoch) } };
        return world.mustReject(
          'S8',
          `what ${stale.kind} did under an epoch that is over`,
          this.#usual(life, reach, authority, stale, replica, id),
        );
      }
      case 2:
        return world.mustReject(
          'S8',
          `a renewal of ${lease.metadata.name} under an epoch that is over`,
          authority.renew({
            name: lease.metadata.name,
            holder: lease.spec.holder,
            epoch: before(lease.spec.epoch),
          }),
        );
      case 3:
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
        );
      case 4: {
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
      case 5: {
        const scheduler = this.#pretend(life, reach, 'scheduler');
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
      case 6: {
        const controller = this.#pretend(life, reach, 'workload-controller');
        const { workload, slot, revision } = replica.spec;
        const record = reach.cache.record(slotKey(ref.tenant, workload, slot))?.value as
          | SlotRecord
          | undefined;
        if (controller === undefined) return;
        return world.mustReject(
          'S12',
          'a replica of a workload of another uid',
          authority.incarnate({
            ...{ actor: controller, tenant: ref.tenant, workload, workloadUid: 'another', slot, revision },
            ...{
              incarnation: (record?.incarnation ?? 0) + 1,
              stage: 'Queued',
              reason: 'Forbidden',
              operation: id,
            },
          }),
        );
      }
      case 7: {
        const gang = reach.objects.get<Gang>('Gang', 'beta', 'crew');
        const hold = [...reach.objects.list<Reservation>('Reservation')].find(
          ({ spec, status }) => spec.intent === 'Gang' && status?.state === 'Held',
        );
        const collector = this.#pretend(life, reach, 'collector');
        if (gang?.status?.state !== 'Committed' || hold === undefined || collector === undefined) return;
        return world.mustReject(
          'S7',
          'the release of a hold of a gang that is committed',
          authority.releaseHold({
            actor: collector,
            tenant: 'beta',
            reservation: hold.metadata.name,
            uid: hold.metadata.uid,
            as: 'Released',
            reason: 'Forbidden',
            operation: id,
          }),
        );
      }
      default:
        return this.#moveFromElsewhere(
          authority,
          own,
          random.pick(replicas),
          random.pick(['Bound', 'Starting', 'Ready', 'Serving'] as const),
          id,
        );
    }
  }

  /** A move that is only right from one stage must have been made from that one. */
  async #moveFromElsewhere(
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
    const { status } = (this.world.history.get(statusKey('Replica', tenant, name)) ?? {}) as Pick<
      Replica,
      'status'
    >;
    const made = status?.transitions?.find(({ operation }) => operation === id);
    if (made !== undefined && made.from !== from)
      this.world.report([
        {
          rule: 'S6',
          revision: Number(outcome.revision),
          message: `${name} was moved from ${made.from}; it was to be moved from ${from}`,
        },
      ]);
  }

  /** What an actor of this kind usually does, as well as can be. */
  #usual(
    life: Life,
    reach: Reach,
    authority: Authority,
    actor: Actor,
    replica: Replica,
    id: string,
  ): Promise<Outcome<unknown>> {
    const ref = refOf(replica);
    const from = replica.status?.stage ?? 'Queued';
    const node = life.env.random.pick([...reach.objects.list<Node>('Node')]);
    const nodeEpoch = node.status?.epoch ?? none;
    switch (actor.kind) {
      case 'detector':
        return authority.gate({
          actor,
          node: node.metadata.name,
          nodeEpoch,
          reachability: node.status?.reachability === 'Fresh' ? 'Suspect' : 'Fresh',
          reason: 'Stale',
          operation: id,
        });
      case 'repair-controller':
        return authority.move({ actor, replica: ref, from, to: 'Unknown', reason: 'Stale', operation: id });
      case 'endpoints-controller':
        return authority.move({
          actor,
          replica: ref,
          from,
          to: from === 'Ready' ? 'Serving' : 'Ready',
          reason: 'Stale',
          operation: id,
        });
      case 'scheduler':
        return authority
          .bind([
            {
              ...{ actor, replica: ref, node: node.metadata.name, nodeEpoch },
              ...{ snapshotRevision: '1', policyRevision: 'builtin', operation: id },
            },
          ])
          .then(([outcome]) => outcome as Outcome<unknown>);
      case 'grant-controller':
        return authority.grant({ actor, tenant: ref.tenant, operation: id });
      case 'collector':
      case 'workload-controller':
        return authority.forget({ actor, replica: ref, dropSlot: true, operation: id });
      default:
        return authority.evict({ actor, replica: ref, reason: 'Stale', operation: id });
    }
  }

  /** Forgetting a replica drops its slot only where that was asked for. */
  async #forget(life: Life, authority: Authority, reach: Reach, replica: Replica, id: string): Promise<void> {
    const actor = this.#pretend(life, reach, 'workload-controller');
    if (actor === undefined) return;
    const dropSlot = life.env.random.chance(0.5);
    const outcome = await authority.forget({ actor, replica: refOf(replica), dropSlot, operation: id });
    if (outcome.kind !== 'Committed' || dropSlot) return;
    const key = slotKey(refOf(replica).tenant, replica.spec.workload, replica.spec.slot);
    const commit = this.world.commits.findLast(({ revision }) => revision === Number(outcome.revision));
    if (commit?.changes.some((change) => change.key === key && change.after === undefined) === true)
      this.world.report([
        {
          rule: 'S12',
          revision: commit.revision,
          message: `${key} was dropped although only ${replica.metadata.name} was to be forgotten`,
        },
      ]);
  }

  #anyActor(life: Life, reach: Reach, own: ReadonlyMap<ActorKind, Actor>, past: readonly Actor[]): Actor {
    const { random } = life.env;
    const candidates = [
      ...own.values(),
      ...past,
      ...pretended.map((kind) => this.#pretend(life, reach, kind)),
    ].filter((actor) => actor !== undefined);
    if (candidates.length === 0 || random.chance(0.1))
      return { kind: random.pick([...played, ...pretended, 'user', 'agent'] as const), name: 'meddler' };
    const actor = random.pick(candidates);
    // Somebody's lease under another's name, now and then.
    return random.chance(0.2) ? { ...actor, kind: random.pick([...played, ...pretended]) } : actor;
  }

  /** Acts as another under the epoch that the other has now, or had. */
  #pretend(life: Life, { cache }: Reach, kind: (typeof pretended)[number]): Actor | undefined {
    const names = kind === 'scheduler' ? ['scheduler', 'scheduler-a', 'scheduler-b'] : [kind];
    const name = life.env.random.pick(names);
    const lease = cache.record(leaseKey(name))?.value as LeaseRecord | undefined;
    if (lease === undefined) return undefined;
    const epoch: Epoch = life.env.random.chance(0.3)
      ? { ...lease.epoch, number: Math.max(1, lease.epoch.number - 1) }
      : lease.epoch;
    return { kind, name: 'meddler', lease: { name, epoch } };
  }

  async #move(authority: Authority, actor: Actor, replica: Replica, to: Stage, id: string): Promise<void> {
    const from = replica.status?.stage ?? 'Queued';
    const operation =
      id === 'calm'
        ? `serve/${replica.metadata.uid}/${replica.status?.transitions?.at(-1)?.operation ?? ''}`
        : id;
    await authority.move({ actor, replica: refOf(replica), from, to, reason: 'Meddling', operation });
  }

  async #release(
    life: Life,
    authority: Authority,
    reach: Reach,
    actor: Actor,
    replica: Replica,
    id: string,
  ): Promise<void> {
    const { random } = life.env;
    const node = replica.status?.binding?.node;
    const lease = node === undefined ? undefined : this.#seenLeases.get(nodeLeaseName(node));
    const current =
      node === undefined
        ? 0
        : Number(reach.objects.get('Lease', undefined, nodeLeaseName(node))?.metadata.resourceVersion ?? 0);
    const hasExpired =
      lease !== undefined && this.world.time.nowMs - lease.sinceMs > fenceContract.windowSeconds * 1_000;
    // Not expired: only with a revision that is over, which nobody must believe.
    const leaseRevision = hasExpired ? lease.version : Math.max(1, current - 1);
    const proof = random.pick([
      { kind: 'FenceExpired', leaseRevision },
      { kind: 'FenceExpired', leaseRevision },
      { kind: 'Attested' },
      { kind: 'NeverBound' },
    ] as const);
    await authority.release({ actor, replica: refOf(replica), proof, reason: 'Meddling', operation: id });
  }

  async #incarnate(
    life: Life,
    authority: Authority,
    reach: Reach,
    replica: Replica,
    id: string,
  ): Promise<void> {
    const { random } = life.env;
    const actor = this.#pretend(life, reach, 'workload-controller');
    const tenant = replica.metadata.namespace ?? '';
    const { workload: name, slot, revision } = replica.spec;
    const workload = reach.objects.get<Workload>('Workload', tenant, name);
    const record = reach.cache.record(slotKey(tenant, name, slot))?.value as SlotRecord | undefined;
    if (actor === undefined || workload === undefined) return;
    const revisions = [...reach.objects.list<WorkloadRevision>('WorkloadRevision', tenant)];
    await authority.incarnate({
      ...{ actor, tenant, workload: name, workloadUid: workload.metadata.uid, slot },
      incarnation: (record?.incarnation ?? 0) + (random.chance(0.8) ? 1 : random.integer(3)),
      revision:
        random.chance(0.8) || revisions.length === 0 ? revision : random.pick(revisions).metadata.name,
      ...{ stage: 'Queued', reason: 'Meddling', operation: id },
      ...(replica.spec.gang !== undefined && { gang: replica.spec.gang }),
    });
  }

  async #bind(
    life: Life,
    authority: Authority,
    actor: Actor,
    replica: Replica,
    node: Node,
    replicas: readonly Replica[],
    id: string,
  ): Promise<void> {
    const { random } = life.env;
    const ref = random.chance(0.8)
      ? refOf(replica)
      : { ...refOf(replica), uid: refOf(random.pick(replicas)).uid };
    const proposal = {
      ...{ actor, replica: ref, node: node.metadata.name, nodeEpoch: node.status?.epoch ?? none },
      ...{ snapshotRevision: '1', policyRevision: 'builtin', operation: id },
    };
    if (random.chance(0.5)) await authority.bind([proposal]);
    else {
      const victims = replicas
        .filter(({ status }) => status?.binding?.node === node.metadata.name && random.chance(0.4))
        .map(refOf);
      await authority.reserve({
        ...proposal,
        intent: random.pick(['Bind', 'Preemption', 'Gang'] as const),
        deadlineSeconds: 20,
        victims: victims.slice(0, 3),
      });
    }
  }
}

const none: Epoch = { cell: 1, number: 0 };

const refOf = ({ metadata }: Replica): ReplicaRef => ({
  tenant: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid,
});

/** Adds it to the world; it starts with all others. */
export const startMeddler = (...parts: ConstructorParameters<typeof Meddler>): SimProcess =>
  new Meddler(...parts).member;
