import { isDeepStrictEqual } from 'node:util';
import { wallTimestamp } from '../../env/instant.js';
import { isBerthError } from '../../model/errors.js';
import { shallBeEmpty, type Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { ObjectIndex } from '../../model/object-index.js';
import type { ObjectChange, Objects, Outcome } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { isTerminal } from '../../model/stages.js';
import { type Acting, noKeys } from '../runtime/acting.js';
import { FirstSeen } from '../runtime/first-seen.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { requeueOf, type Verdict, verdictOf, whyNot, worstOf } from '../runtime/verdict.js';
import type { SlotIndex } from '../workload/slot-index.js';
import {
  type Block,
  type DrainRow,
  type DrainSeen,
  drainStatus,
  drivenAway,
  evictable,
  type NodeDrain,
  takenOver,
} from './plan-drain.js';
import { Leavers } from './leavers.js';
import { type SpareInput, SpareReplicas } from './spare-replicas.js';

export interface DrainParts {
  readonly acting: Acting;
  /** By the node they are bound to. */
  readonly onNode: ObjectIndex<Replica>;
  readonly slots: SlotIndex;
  /** Counts which replicas of a workload can be spared; `SpareReplicas` unless the simulator counts wrongly. */
  readonly spareOf?: (input: SpareInput) => SpareReplicas;
}

// While there is something to do: what was blocked may not be any more, replacements get ready elsewhere.
const lookMs = 2_000;
const spareOf = (input: SpareInput): SpareReplicas => new SpareReplicas(input);

// So many workloads are asked at once; of one, replicas are asked one after the other until its limit is met.
const workloadsAtOnce = 16;

/** Takes everything away from nodes that drain or are being deleted, within the limits of the workloads, and says how far it has come. Keys are nodes. */
export class DrainReconciler implements Reconciler {
  readonly #seen: FirstSeen;
  // By node, then by uid: what stood in the way at the last try.
  readonly #blocks = new Map<string, ReadonlyMap<string, Block>>();
  // By node, while its drain goes on: what its status has no room for.
  readonly #looks = new Map<string, DrainSeen>();
  // By workload.
  readonly #leavers = new Map<string, Leavers>();

  constructor(private readonly parts: DrainParts) {
    this.#seen = new FirstSeen(parts.acting.env);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { objects } = this.parts.acting;
    const node = objects.get<Node>('Node', undefined, key);
    if (node === undefined || !shallBeEmpty(node)) {
      this.#seen.retain(key, []);
      this.#blocks.delete(key);
      this.#looks.delete(key);
      if (node === undefined) return done;
      await this.#publish(node.metadata);
      if (!drivesAway(node)) return done;
      const driven = drivenAway(node, this.#live(key), (replica) => this.#tolerationsOf(replica));
      if (driven.length === 0) return done;
      const { verdicts, blocks } = await this.#evict(driven, 'TaintNoExecute', signal);
      if (verdicts.has('Stale')) return done;
      return blocks.size > 0
        ? after(lookMs, 'some may not leave yet')
        : requeueOf(worstOf(verdicts), 'evictions');
    }
    this.#seen.retain(key, [node.metadata.uid]);
    const { verdicts, blocks } = await this.#evict(evictable(this.#live(key)), 'Drained', signal);
    if (verdicts.has('Stale') || signal.aborted) return done;
    this.#blocks.set(key, blocks);
    if ((await this.#publish(node.metadata)) === 'behind')
      return after(lookMs, 'what is on the node is not known yet');
    if (verdicts.has('Retry')) return requeueOf('Retry', 'an eviction did not work out');
    if (!this.#isSettled(key)) return after(lookMs, 'the drain goes on');
    this.#looks.delete(key);
    return done;
  }

  #live(node: string): readonly Replica[] {
    return [...this.parts.onNode.of(node)].filter(({ status }) => !isTerminal(status?.stage ?? 'Queued'));
  }

  #tolerationsOf({ metadata, spec }: Replica) {
    const { objects } = this.parts.acting;
    const revision = objects.get<WorkloadRevision>('WorkloadRevision', metadata.namespace, spec.revision);
    return revision?.spec.placement?.tolerations ?? [];
  }

  async #evict(
    replicas: readonly Replica[],
    reason: string,
    signal: AbortSignal,
  ): Promise<{ readonly verdicts: ReadonlySet<Verdict>; readonly blocks: ReadonlyMap<string, Block> }> {
    const verdicts = new Set<Verdict>();
    const blocks = new Map<string, Block>();
    const byWorkload = new Map<string, Replica[]>();
    for (const replica of replicas) {
      const workload = `${replica.metadata.namespace}/${replica.spec.workload}`;
      byWorkload.set(workload, [...(byWorkload.get(workload) ?? []), replica]);
    }
    const groups = [...byWorkload.values()];
    for (let from = 0; from < groups.length && !signal.aborted && !verdicts.has('Stale');) {
      const together = groups.slice(from, (from += workloadsAtOnce));
      await Promise.all(together.map((group) => this.#evictOf(group, reason, verdicts, blocks, signal)));
    }
    return { verdicts, blocks };
  }

  /** The replicas of one workload, one after the other: once its limit is met, the others wait for the same. */
  async #evictOf(
    group: readonly Replica[],
    reason: string,
    verdicts: Set<Verdict>,
    blocks: Map<string, Block>,
    signal: AbortSignal,
  ): Promise<void> {
    const { acting } = this.parts;
    const { authority, actor } = acting;
    const [first] = group;
    if (first === undefined) return;
    let block: Block | undefined;
    const { namespace = '' } = first.metadata;
    const key = `${namespace}/${first.spec.workload}`;
    const workload = acting.objects.get<Workload>('Workload', namespace, first.spec.workload);
    const slots = this.parts.slots.slotsOf(key, workload?.metadata.uid ?? '');
    const leavers = this.#leaversOf(key);
    leavers.open(slots);
    try {
      const seenRevision = String(this.parts.slots.version);
      const spare = (this.parts.spareOf ?? spareOf)({ workload, slots, leavers });
      for (const replica of group) {
        if (signal.aborted || verdicts.has('Stale')) return;
        const whyKept = spare.whyNot(replica);
        if (whyKept !== undefined) {
          blocks.set(replica.metadata.uid, this.#blockOf(replica, whyKept));
          continue;
        }
        const { uid } = replica.metadata;
        if (block === undefined) {
          const evidence = { seenRevision, serving: spare.servingText };
          if (spare.isMissed(replica)) leavers.asked(uid);
          const outcome: Outcome<unknown> = await authority.evict({
            ...{ actor, replica: refOf(replica), reason, evidence },
            operation: `drain/${uid}/${reason}`,
          });
          const verdict = verdictOf(outcome);
          if (outcome.kind === 'Rejected') leavers.stays(uid);
          else if (outcome.kind !== 'UnknownOutcome' && leavers.has(uid)) leavers.left(uid);
          if (outcome.kind === 'Rejected' && outcome.reason === 'DisruptionLimit')
            block = this.#blockOf(replica, outcome.message);
          else verdicts.add(verdict);
          if (verdict === 'Stale') acting.giveUp(whyNot(outcome) ?? '');
        }
        if (block !== undefined) blocks.set(uid, block);
      }
    } finally {
      leavers.close();
      if (leavers.isIdle) this.#leavers.delete(key);
    }
  }

  #leaversOf(workload: string): Leavers {
    const known = this.#leavers.get(workload) ?? new Leavers(this.parts.acting.env);
    this.#leavers.set(workload, known);
    return known;
  }

  #blockOf({ metadata, spec }: Replica, message: string): Block {
    const workload = this.parts.acting.objects.get<Workload>('Workload', metadata.namespace, spec.workload);
    const isForbidden = workload?.spec.disruption?.maxUnavailable === 0;
    const nextMove = isForbidden
      ? `user:${metadata.namespace}`
      : (workload?.status?.progress?.nextMove ?? 'workload-controller');
    return { reason: 'DisruptionLimit', message, nextMove };
  }

  /** Writes how far the drain has come, or that there is none, if it is not what is there. */
  async #publish({ name, uid }: Node['metadata']): Promise<'current' | 'behind'> {
    const { objects, env } = this.parts.acting;
    const node = objects.get<Node>('Node', undefined, name);
    if (node === undefined) return 'current';
    const isDraining = shallBeEmpty(node);
    if (!isDraining && node.status?.drain === undefined) return 'current';
    // What was bound before the drain is in the cache, and nothing is bound after it; the index may be behind the cache.
    if (isDraining && !this.parts.onNode.isAsNewAs(node.metadata.resourceVersion)) return 'behind';
    const now = wallTimestamp(env.clock.wall()).replace(/\.\d+Z$/, 'Z');
    const drain = isDraining ? this.#look(node, now) : undefined;
    if (isDeepStrictEqual(drain, node.status?.drain)) return 'current';
    try {
      await objects.modify<Node>('Node', undefined, name, 'status', (live) => {
        // Another drain, or none: that is looked at for itself.
        if (live.metadata.uid !== uid || live.metadata.generation !== node.metadata.generation)
          return undefined;
        const { drain: _, ...status } = live.status ?? {};
        return { ...live, status: { ...status, ...(drain !== undefined && { drain }) } };
      });
    } catch (error) {
      if (!isBerthError(error, 'NotFound')) throw error;
    }
    return 'current';
  }

  #look(node: Node, now: string): NodeDrain {
    const { name, uid } = node.metadata;
    const live = this.#live(name);
    const before = node.status?.drain;
    const { drain, seen } = drainStatus({
      ...{ node, now, live, holds: this.#holdsOn(name) },
      blocks: this.#blocks.get(name) ?? new Map<string, Block>(),
      isReplaced: (row) => this.#isReplaced(row),
      drainingMs: this.#seen.ageMs(name, uid),
      // Where none was published it is another drain, or the first look at one.
      seen: (before && this.#looks.get(name)) ?? takenOver(before, live),
    });
    this.#looks.set(name, seen);
    return drain;
  }

  #holdsOn(node: string): number {
    let holds = 0;
    for (const { spec, status } of this.parts.acting.objects.list<Reservation>('Reservation'))
      if (spec.node === node && (status === undefined || status.state === 'Held')) holds += 1;
    return holds;
  }

  #isReplaced({ replica, uid, workload: name, slot }: DrainRow): boolean {
    const { objects } = this.parts.acting;
    const workload = objects.get<Workload>('Workload', replica.slice(0, replica.indexOf('/')), name);
    const key = `${replica.slice(0, replica.indexOf('/'))}/${name}`;
    const newest = this.parts.slots.slotsOf(key, workload?.metadata.uid ?? '').get(slot)?.newest;
    const stage = newest?.status?.stage;
    return (
      newest?.metadata.uid !== uid && (stage === 'Ready' || stage === 'Serving' || stage === 'Succeeded')
    );
  }

  /** Nothing is left to be seen: all have gone, and are replaced as far as they will be. */
  #isSettled(name: string): boolean {
    const { objects } = this.parts.acting;
    const drain = objects.get<Node>('Node', undefined, name)?.status?.drain;
    if (drain?.state !== 'Complete') return false;
    return (drain.replicas ?? []).every(({ state, slot }) => state === 'Replaced' || slot === name);
  }
}

export const drainKinds: ReadonlySet<string> = new Set(['Node', 'Replica']);

/** The nodes whose drain a change may concern. */
export function drainKeysOf(objects: Objects, change: ObjectChange): readonly string[] {
  if (change.kind === 'Node') {
    const [node, before] = [change.object as Node, change.before as Node | undefined];
    const isNews =
      change.type !== 'MODIFIED' ||
      before === undefined ||
      shallBeEmpty(node) !== shallBeEmpty(before) ||
      !isDeepStrictEqual(node.spec, before.spec);
    return isNews ? [node.metadata.name] : noKeys;
  }
  if (change.kind !== 'Replica') return noKeys;
  const [replica, before] = [change.object as Replica, change.before as Replica | undefined];
  const name = replica.status?.binding?.node;
  const isNews = change.type === 'DELETED' || replica.status?.stage !== before?.status?.stage;
  if (name === undefined || !isNews) return noKeys;
  const node = objects.get<Node>('Node', undefined, name);
  return node !== undefined && drivesAway(node) ? [name] : noKeys;
}

const drivesAway = (node: Node): boolean =>
  shallBeEmpty(node) || (node.spec.taints ?? []).some(({ effect }) => effect === 'NoExecute');
