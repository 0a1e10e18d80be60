import { fenceContract } from '../../model/fence-contract.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Actor, Authority } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { nodeLeaseName, slotKey, type SlotRecord } from '../../model/records.js';
import { stages, type Stage } from '../../model/stages.js';
import { simulatedVersions } from '../checkers/simulated-versions.js';
import type { Life, SimProcess } from './sim-process.js';
import type { Reach } from './server.js';
import { dropSlotTooEarly } from './drop-slot.js';
import { leaveInTwoSteps } from './leave-in-two-steps.js';
import { doForbidden } from './forbidden-operations.js';
import { meddleWithGang } from './meddle-gang.js';
import { type ActorKind, none, played, pretend, pretended } from './played-actors.js';
import { resignAndGoOn } from './resign-and-go-on.js';
import type { World } from './world.js';

interface Pace {
  readonly everyMs: number;
  /** It tries nothing but what is forbidden until some of it was refused: where that is what shall be shown. */
  readonly insists?: boolean;
}

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
    private readonly pace: Pace,
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
        const { isStopped } = this.world.faults;
        if (actor !== undefined && (isStopped || !life.env.random.chance(0.02))) continue;
        if (actor !== undefined && life.env.random.chance(0.5)) {
          await resignAndGoOn(life, reach, authority, actor).catch(() => undefined);
          past.push(actor);
          own.delete(kind);
          continue;
        }
        // For a while nobody holds what it has released.
        if (actor === undefined && past.length > 0 && !isStopped && !life.env.random.chance(0.3)) continue;
        const taken = await this.#take(life, authority, reach, kind);
        if (taken === undefined) continue;
        if (actor !== undefined) past.push(actor);
        own.set(kind, taken);
        // What it has seen before its term does not count in it.
        if (kind === 'repair-controller') this.#seenLeases.clear();
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
  async #helpOut({ objects }: Reach, authority: Authority, own: Map<ActorKind, Actor>): Promise<void> {
    const detector = own.get('detector');
    for (const node of objects.list<Node>('Node')) {
      const epoch = node.status?.epoch;
      if (detector === undefined || epoch === undefined || node.status?.reachability === 'Fresh') continue;
      const outcome = await authority.gate({
        actor: detector,
        node: node.metadata.name,
        nodeEpoch: epoch,
        reachability: 'Fresh',
        reason: 'Heard',
        operation: `gate/${node.metadata.name}`,
      });
      // It has taken that lease once more without hearing of it.
      if (outcome.kind === 'Rejected' && outcome.reason === 'StaleEpoch') own.delete('detector');
    }
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
    // After it released a lease, the meddler acts under that lease until it takes the lease again.
    const actorOf = (kind: ActorKind): Actor =>
      own.get(kind) ?? past.findLast((actor) => actor.kind === kind) ?? { kind, name: 'meddler' };
    const at = (...wanted: readonly Stage[]): Replica => {
      const those = replicas.filter(({ status }) => wanted.includes(status?.stage ?? 'Queued'));
      return those.length === 0 || random.chance(0.2) ? replica : random.pick(those);
    };
    const insists = this.pace.insists === true && this.world.refused === 0;
    if (random.chance(0.3) || insists)
      return doForbidden(this.world, life, reach, authority, own, replicas, id);
    if (random.chance(0.5) && (await leaveInTwoSteps(life, reach, authority))) return;
    const ref = refOf(replica);
    switch (random.integer(16)) {
      case 0: {
        const reachability = random.pick(['Fresh', 'Suspect', 'Unknown', 'Lost'] as const);
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
          actor: random.chance(0.8)
            ? ((kind === 'drain' ? pretend(life, reach, kind) : undefined) ?? actorOf(kind))
            : anyActor(),
          replica: refOf(at('Ready', 'Serving')),
          reason: 'Meddling',
          operation: id,
        });
        return;
      }
      case 3:
      case 4: {
        const lost = this.#replacement(reach, replicas) ?? at('Bound', 'Starting', 'Ready', 'Serving');
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
          pretend(life, reach, 'endpoints-controller') ?? actorOf('endpoints-controller'),
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
        await this.#bind(
          life,
          authority,
          (random.chance(0.6) ? pretend(life, reach, 'scheduler') : undefined) ?? anyActor(),
          at('Queued', 'Scheduled'),
          node,
          replicas,
          id,
        );
        return;
      case 14: {
        const actor = pretend(life, reach, 'grant-controller');
        if (actor !== undefined)
          await authority.grant({ actor, tenant: random.pick(['alpha', 'beta']), operation: id });
        return;
      }
      default:
        return meddleWithGang(life, reach, authority, pretend(life, reach, 'scheduler') ?? anyActor(), id);
    }
  }

  /** One that runs in place of another which is lost: that one's slot has no room for a third. */
  #replacement({ cache }: Reach, replicas: readonly Replica[]): Replica | undefined {
    return replicas.find(({ metadata, spec, status }) => {
      const record = cache.record(slotKey(metadata.namespace ?? '', spec.workload, spec.slot))?.value as
        | SlotRecord
        | undefined;
      return status?.stage === 'Ready' && record?.lost !== undefined && record.replicaUid === metadata.uid;
    });
  }

  /** Forgetting a replica drops its slot only where that was asked for. */
  async #forget(life: Life, authority: Authority, reach: Reach, replica: Replica, id: string): Promise<void> {
    const actor = pretend(life, reach, 'workload-controller');
    if (actor === undefined) return;
    if (life.env.random.chance(0.3)) return dropSlotTooEarly(reach, authority, actor, replica, id);
    const dropSlot = life.env.random.chance(0.5);
    const outcome = await authority.forget({ actor, replica: refOf(replica), dropSlot, operation: id });
    if (outcome.kind !== 'Committed' || dropSlot) return;
    const key = slotKey(refOf(replica).tenant, replica.spec.workload, replica.spec.slot);
    const committedAt = simulatedVersions.revisionOf(Number(outcome.revision));
    const commit = this.world.commits.findLast(({ revision }) => revision === committedAt);
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
      ...pretended.map((kind) => pretend(life, reach, kind)),
    ].filter((actor) => actor !== undefined);
    if (candidates.length === 0 || random.chance(0.1))
      return { kind: random.pick([...played, ...pretended, 'user', 'agent'] as const), name: 'meddler' };
    const actor = random.pick(candidates);
    // Somebody's lease under another's name, now and then.
    return random.chance(0.2) ? { ...actor, kind: random.pick([...played, ...pretended]) } : actor;
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
    // Honest about time, which is too short for most, or with a revision that is over: nobody must believe either.
    const stoodSeconds = lease === undefined ? 0 : (this.world.time.nowMs - lease.sinceMs) / 1_000;
    const isWaitedFor = stoodSeconds > fenceContract.windowSeconds;
    const proof = random.pick([
      { kind: 'FenceExpired', leaseRevision: lease?.version ?? 1, stoodSeconds },
      {
        kind: 'FenceExpired',
        leaseRevision: isWaitedFor ? (lease?.version ?? 1) : Math.max(1, current - 1),
        stoodSeconds: Math.max(stoodSeconds, fenceContract.windowSeconds),
      },
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
    const actor = pretend(life, reach, 'workload-controller');
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

/** Adds it to the world; it starts with all others. */
export const startMeddler = (...parts: ConstructorParameters<typeof Meddler>): SimProcess =>
  new Meddler(...parts).member;
