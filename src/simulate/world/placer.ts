import { amountOf, firstOver } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Actor, Authority, Outcome, Proposal, ReplicaRef } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { nodeAccountKey, type NodeAccount, statusKey } from '../../model/records.js';
import { Leadership } from '../../reconcile/runtime/leadership.js';
import { isTerminal } from '../../model/stages.js';
import type { Life, SimProcess } from './sim-process.js';
import type { Reach } from './server.js';
import type { World } from './world.js';

/** What a placer looked at. It may be old: placers keep using one for a while. */
interface Snapshot {
  readonly version: string;
  readonly waiting: readonly Replica[];
  readonly placed: readonly Replica[];
  readonly nodes: readonly { readonly node: Node; readonly account: NodeAccount | undefined }[];
  readonly revisions: ReadonlyMap<string, WorkloadRevision>;
  readonly gangs: readonly {
    readonly tenant: string;
    readonly name: string;
    readonly uid: string;
    readonly state: string;
    readonly holds: number;
    readonly needs: number;
  }[];
}

export interface PlacerOptions {
  readonly name: string;
  readonly lease: string;
  /** The share of proposals for a node that was not looked at closely. */
  readonly carelessness: number;
  readonly reserves: boolean;
}

const lookMs = 500;
const backoffMsMax = 4_000;
const restMs = 3_600_000;

/** A rival of the schedulers: proposes from old snapshots, sometimes without looking, and never believes a timeout. */
class ScriptedPlacer {
  readonly member: SimProcess;
  // Proposals without an answer: sent again under the same operation before anything new is tried.
  readonly #unanswered = new Map<string, Proposal>();
  readonly #retryAtMs = new Map<string, { readonly atMs: number; readonly failures: number }>();
  // Whom a proposal would have make room for it.
  readonly #victims = new Map<string, readonly ReplicaRef[]>();
  #attempts = 0;

  constructor(
    private readonly world: World,
    private readonly servers: readonly SimProcess[],
    private readonly options: PlacerOptions,
  ) {
    this.member = world.addProcess(options.name, (life) => this.#main(life));
  }

  async #main(life: Life): Promise<void> {
    this.#unanswered.clear();
    this.#retryAtMs.clear();
    const authority = this.world.remoteAuthority(life, this.servers);
    const leases = new Map<string, Node>();
    const leadership = new Leadership({
      ...{ authority, env: life.env, lease: this.options.lease, holder: this.options.name },
      // Refreshed below: a placer sees leases only as old as its last look.
      objects: { get: ((_kind: string, _namespace: undefined, name: string) => leases.get(name)) as never },
    });
    const looking = async (): Promise<void> => {
      for (;;) {
        const lease = await this.world.ask(
          life,
          this.servers,
          ({ cache }) => cache.get({ kind: 'Lease', namespace: undefined, name: this.options.lease })?.object,
        );
        if (lease !== undefined) leases.set(this.options.lease, lease as Node);
        await life.env.sleep(1_000);
      }
    };
    void looking();
    await leadership.run(async (term) => {
      const actor: Actor = {
        kind: 'scheduler',
        name: this.options.name,
        lease: { name: this.options.lease, epoch: term.epoch },
      };
      // A rival of the schedulers, who have to finish alone what it began when nothing goes wrong any more.
      while (!term.signal.aborted && !this.world.faults.isStopped)
        await this.#cycle(life, authority, actor, (why) => term.giveUp(why));
      await life.env.sleep(restMs);
    }, new AbortController().signal);
  }

  async #cycle(life: Life, authority: Authority, actor: Actor, giveUp: (why: string) => void): Promise<void> {
    const { env } = life;
    const snapshot = await this.world.ask(life, this.servers, lookAt);
    // Old on purpose: the world goes on before it is used.
    await env.sleep(env.random.integer(env.random.chance(0.3) ? 3_000 : lookMs));
    if (snapshot === undefined) return;
    for (const gang of snapshot.gangs) await this.#driveGang(authority, actor, gang);
    const proposals: Proposal[] = [];
    const nowMs = this.world.time.nowMs;
    for (const replica of snapshot.waiting) {
      const { uid } = replica.metadata;
      const known = this.#unanswered.get(uid);
      if (known !== undefined && known.actor.lease?.epoch === actor.lease?.epoch) proposals.push(known);
      else if ((this.#retryAtMs.get(uid)?.atMs ?? 0) <= nowMs) {
        const proposal = this.#propose(life, actor, snapshot, replica);
        if (proposal !== undefined) proposals.push(proposal);
        else await this.#postpone(authority, actor, replica, 'NodeFull', 'no node was found');
      }
    }
    if (proposals.length === 0) return;
    const held = proposals.filter(({ operation }) => operation.startsWith('reserve/'));
    for (const proposal of held) {
      const gang = snapshot.waiting.find(({ metadata }) => metadata.uid === proposal.replica.uid)?.spec.gang;
      const intent = gang === undefined ? 'Bind' : 'Gang';
      const victims = this.#victims.get(proposal.operation);
      const outcome = await authority
        .reserve({
          ...proposal,
          intent: victims === undefined ? intent : 'Preemption',
          deadlineSeconds: 20,
          ...(victims !== undefined && { victims }),
        })
        .catch(() => undefined);
      await this.#answered(authority, actor, proposal, outcome, giveUp);
    }
    const bound = proposals.filter(({ operation }) => operation.startsWith('bind/'));
    const outcomes = await authority.bind(bound).catch(() => undefined);
    for (const [index, proposal] of bound.entries())
      await this.#answered(authority, actor, proposal, outcomes?.[index], giveUp);
  }

  async #answered(
    authority: Authority,
    actor: Actor,
    proposal: Proposal,
    outcome: Outcome<unknown> | undefined,
    giveUp: (why: string) => void,
  ): Promise<void> {
    const { uid } = proposal.replica;
    if (outcome === undefined || outcome.kind === 'UnknownOutcome') {
      this.#unanswered.set(uid, proposal);
      return;
    }
    this.#unanswered.delete(uid);
    if (outcome.kind !== 'Rejected') {
      this.#retryAtMs.delete(uid);
      return;
    }
    if (outcome.reason === 'StaleEpoch') return giveUp(outcome.message);
    this.world.rejectedBinds.set(uid, proposal.replica);
    const failures = (this.#retryAtMs.get(uid)?.failures ?? 0) + 1;
    const waitMs = Math.min(backoffMsMax, 250 * 2 ** failures);
    this.#retryAtMs.set(uid, { atMs: this.world.time.nowMs + waitMs, failures });
    await this.#postponeRef(authority, actor, proposal.replica, outcome.reason, outcome.message);
  }

  async #postpone(
    authority: Authority,
    actor: Actor,
    replica: Replica,
    reason: 'NodeFull',
    message: string,
  ): Promise<void> {
    const condition = replica.status?.conditions?.find(({ type }) => type === 'SchedulingRetrying');
    if (condition?.status === 'True' && condition.reason === reason) return;
    await this.#postponeRef(authority, actor, refOf(replica), reason, message);
  }

  async #postponeRef(
    authority: Authority,
    actor: Actor,
    replica: ReplicaRef,
    reason: Parameters<Authority['postpone']>[0]['reason'],
    message: string,
  ): Promise<void> {
    // Two that say why something waits would go on contradicting each other: when all is calm, a scheduler's word stays.
    if (this.world.faults.isStopped && this.#hasDecision(replica)) return;
    await authority.postpone({ actor, replica, reason, message }).catch(() => undefined);
  }

  #hasDecision({ tenant, name }: ReplicaRef): boolean {
    const stored = this.world.history.get(statusKey('Replica', tenant, name));
    return (stored as Pick<Replica, 'status'> | undefined)?.status?.decision !== undefined;
  }

  #propose(life: Life, actor: Actor, snapshot: Snapshot, replica: Replica): Proposal | undefined {
    const { random } = life.env;
    const isCareless = random.chance(this.options.carelessness);
    const isScheduled = replica.status?.stage === 'Scheduled';
    const { gang } = replica.spec;
    const hasGangBegun = snapshot.gangs.some(
      ({ name, tenant, state }) =>
        name === gang && tenant === replica.metadata.namespace && state === 'Committed',
    );
    if (gang !== undefined && isScheduled && !hasGangBegun) return undefined;
    const { node, victims } = this.#choose(life, snapshot, replica, isCareless);
    const epoch = node?.status?.epoch;
    if (node === undefined || epoch === undefined) return undefined;
    this.#attempts += 1;
    const mustHold = (gang !== undefined && !hasGangBegun) || victims !== undefined;
    const doesHold = !isScheduled && (mustHold || (this.options.reserves && random.chance(0.3)));
    const operation = `${doesHold ? 'reserve' : 'bind'}/${replica.metadata.uid}/${this.options.name}/${this.#attempts}`;
    if (victims !== undefined && doesHold) this.#victims.set(operation, victims);
    const devices = revisionOf(snapshot, replica)?.spec.template.resources?.devices;
    const named =
      isCareless && devices !== undefined && random.chance(0.5) ? pickAny(node, devices, random) : undefined;
    return {
      actor,
      replica: refOf(replica),
      node: node.metadata.name,
      nodeEpoch: isCareless && random.chance(0.2) ? { ...epoch, number: epoch.number - 1 } : epoch,
      snapshotRevision: snapshot.version,
      policyRevision: 'builtin',
      operation,
      ...(named !== undefined && { devices: named }),
    };
  }

  /** A node for a replica: that of its hold, one that looks good, any; or one where others would have to make room. */
  #choose(
    life: Life,
    snapshot: Snapshot,
    replica: Replica,
    isCareless: boolean,
  ): { readonly node?: Node | undefined; readonly victims?: readonly ReplicaRef[] } {
    const { random } = life.env;
    const named = (name: string | undefined): Node | undefined =>
      snapshot.nodes.find(({ node }) => node.metadata.name === name)?.node;
    if (replica.status?.stage === 'Scheduled' && !isCareless) return { node: named(heldNode(replica)) };
    const revision = revisionOf(snapshot, replica);
    const fits = isCareless
      ? snapshot.nodes
      : snapshot.nodes.filter(({ node, account }) => looksGood(node, account, revision));
    if (fits.length > 0 && !random.chance(0.15)) return { node: random.pick(fits).node };
    if (snapshot.nodes.length === 0) return {};
    const { node } = random.pick(snapshot.nodes);
    const isUrgent = revision?.spec.priorityClassName === 'critical';
    if (!isUrgent && !random.chance(0.3)) return {};
    const victims = snapshot.placed
      .filter(({ status }) => status?.binding?.node === node.metadata.name)
      // Usually those that rank lower; that they do is for the authority to see to.
      .filter(
        (other) =>
          (isUrgent && revisionOf(snapshot, other)?.spec.priorityClassName !== 'critical') ||
          random.chance(0.3),
      )
      .slice(0, 1 + random.integer(3))
      .map(refOf);
    return victims.length === 0 ? {} : { node, victims };
  }

  async #driveGang(
    authority: Authority,
    actor: Actor,
    { tenant, name, uid, state, holds, needs }: Snapshot['gangs'][number],
  ): Promise<void> {
    const move = (to: 'Reserving' | 'Committed'): Promise<unknown> =>
      authority
        .moveGang({ actor, tenant, gang: name, uid, to, operation: `gang/${uid}/${to}/${state}` })
        .catch(() => undefined);
    if (state === 'Waiting') await move('Reserving');
    // Careless now and then: the authority counts holds itself.
    else if (state === 'Reserving' && (holds >= needs || this.world.time.random.chance(0.05)))
      await move('Committed');
  }
}

const revisionOf = (snapshot: Snapshot, replica: Replica): WorkloadRevision | undefined =>
  snapshot.revisions.get(`${replica.metadata.namespace}/${replica.spec.revision}`);

/** The node of the hold, as the move that made it recorded. */
const heldNode = (replica: Replica): string | undefined =>
  replica.status?.transitions?.findLast(({ to }) => to === 'Scheduled')?.evidence?.['node'];

function lookAt({ cache, objects }: Reach): Snapshot {
  const replicas = [...objects.list<Replica>('Replica')];
  const isWaiting = ({ status }: Replica): boolean =>
    status?.stage === 'Queued' || status?.stage === 'Scheduled';
  return {
    version: objects.version,
    waiting: replicas.filter(isWaiting),
    placed: replicas.filter(
      (replica) => !isWaiting(replica) && !isTerminal(replica.status?.stage ?? 'Queued'),
    ),
    nodes: [...objects.list<Node>('Node')].map((node) => ({
      node,
      account: cache.record(nodeAccountKey(node.metadata.name))?.value as NodeAccount | undefined,
    })),
    revisions: new Map(
      [...objects.list<WorkloadRevision>('WorkloadRevision')].map((revision) => [
        `${revision.metadata.namespace}/${revision.metadata.name}`,
        revision,
      ]),
    ),
    gangs: [...objects.list('Gang')].map(({ metadata, spec, status }) => ({
      tenant: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid,
      state: (status?.['state'] as string | undefined) ?? 'Waiting',
      holds: (status?.['holds'] as number | undefined) ?? 0,
      needs: (spec?.['minAvailable'] as number | undefined) ?? 1,
    })),
  };
}

/** A quick look, which leaves much to the authority: neighbours, quota and residency are not looked at. */
function looksGood(
  node: Node,
  account: NodeAccount | undefined,
  revision: WorkloadRevision | undefined,
): boolean {
  if (account === undefined || account.gate.state === 'Closed') return false;
  if (node.spec.unschedulable === true || node.spec.drain !== undefined) return false;
  const { regions = [], zones = [], nodeSelector = {}, tolerations = [] } = revision?.spec.placement ?? {};
  if (regions.length > 0 && !regions.includes(node.spec.region ?? '')) return false;
  if (zones.length > 0 && !zones.includes(node.spec.zone ?? '')) return false;
  if ((node.spec.taints ?? []).length > 0 && tolerations.length === 0) return false;
  for (const [key, value] of Object.entries(nodeSelector))
    if (node.metadata.labels?.[key] !== value) return false;
  return (
    firstOver(
      account.used,
      amountOf(revision?.spec.template.resources ?? {}),
      account.allocatable,
      'isNone',
    ) === undefined
  );
}

const pickAny = (
  node: Node,
  devices: Readonly<Record<string, number>>,
  random: { pick<T>(items: readonly T[]): T },
): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(devices)
      .filter(([name]) => (node.status?.devices?.[name] ?? []).length > 0)
      .map(([name, count]) => [
        name,
        Array.from({ length: count }, () => random.pick(node.status?.devices?.[name] ?? ['none'])),
      ]),
  );

/** Adds it to the world; it starts with all others. */
export const startPlacer = (...parts: ConstructorParameters<typeof ScriptedPlacer>): SimProcess =>
  new ScriptedPlacer(...parts).member;
