import { isDeepStrictEqual } from 'node:util';
import { wallTimestamp } from '../../env/instant.js';
import { isBerthError } from '../../model/errors.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { Pace } from '../runtime/pace.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { type PlanInput, planWorkload, type WorkloadPlan } from './plan-workload.js';
import type { SlotIndex } from './slot-index.js';
import type { Slots } from './slot.js';
import { hasEnded } from './slot-wishes.js';
import { controllerUidOf, isReplicaStep, sendStep, takeObjectStep } from './workload-operations.js';
import { workloadStatus } from './workload-status.js';

// One of 5,000 replicas is looked at every second, which takes a millisecond and writes its status; one of 100 whenever
// something changes. Many that change all the time would otherwise leave little of the processor for anybody else.
const replicasPerRestMs = 5;
// While a plan of several parts is carried out: one of 1,000 replicas says every second how far it has come.
const replicasPerToldMs = 1;

/** Makes the replicas of a workload what its spec asks for, and its status what they are. */
export class WorkloadReconciler implements Reconciler {
  readonly #seen: FirstSeen;
  readonly #pace: Pace;
  // When it was said last how far a plan of several parts has come: the larger, the more that costs.
  readonly #told: Pace;
  // Plans of several parts, of which each turn takes one: others have theirs in between, however large this one is.
  readonly #unfinished = new Map<string, { readonly mark: string; readonly more: () => WorkloadPlan }>();

  constructor(
    private readonly parts: {
      readonly acting: Acting;
      readonly slots: SlotIndex;
      /** By the key of their workload. */
      readonly revisions: ObjectIndex<WorkloadRevision>;
    },
  ) {
    this.#seen = new FirstSeen(parts.acting.env);
    this.#pace = new Pace(parts.acting.env, replicasPerRestMs);
    this.#told = new Pace(parts.acting.env, replicasPerToldMs);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting } = this.parts;
    const input = this.#look(key);
    const unfinished = this.#unfinished.get(key);
    this.#unfinished.delete(key);
    if (input === undefined) return done;
    const { workload } = input;
    const { uid, generation, deletionTimestamp = '' } = workload.metadata;
    // What its user asks for is done at once.
    const mark = `${uid} ${generation} ${deletionTimestamp}`;
    const restMs = this.#pace.restMs(key, mark);
    if (restMs > 0) return after(restMs, 'a large workload is looked at now and then');
    const isGoingOn = unfinished?.mark === mark;
    const { steps, waitMs, more } = isGoingOn ? unfinished.more() : planWorkload(input);
    const objectSteps = steps.filter((step) => !isReplicaStep(step));
    // At once: none of them needs another, and each waits for the disk.
    await Promise.all(objectSteps.map((step) => takeObjectStep(acting, workload, step)));
    if (objectSteps.some(({ kind }) => kind === 'RemoveFinalizer')) return done;
    const operations = steps.filter(isReplicaStep).map((step) => () => sendStep(acting, workload, step));
    const requeue = await carryOut(acting, 'workload', key, operations, signal);
    if (signal.aborted) return done;
    if (requeue.kind !== 'done') {
      await this.#publish(key);
      return requeue;
    }
    if (more !== undefined) {
      this.#unfinished.set(key, { mark, more });
      // [L6] Whoever waits for a large workload sees how far it has come.
      if (this.#told.restMs(key) === 0) {
        await this.#publish(key);
        this.#told.looked(key, this.parts.slots.slotsOf(key, uid).size);
      }
      return after(0, 'there is more to do than fits into one turn');
    }
    // A slot that its plan had passed already may have changed since.
    if (isGoingOn) return after(0, 'what changed meanwhile is looked at');
    const isPublished = await this.#publish(key);
    this.#pace.looked(key, input.slots.size, mark);
    if (!isPublished) return after(0, 'its status changed meanwhile');
    return waitMs === undefined ? done : after(waitMs, 'a slot waits for its next incarnation');
  }

  #look(key: string): PlanInput | undefined {
    const { acting, slots: index, revisions } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const slots = index.slotsOf(key, workload?.metadata.uid ?? '');
    this.#seen.retain(key, endedIn(slots));
    if (workload === undefined) return undefined;
    const isOwned = (object: WorkloadRevision | Gang): boolean =>
      controllerUidOf(object) === workload.metadata.uid;
    const gang = acting.objects.get<Gang>('Gang', tenant, name);
    return {
      workload,
      slots,
      nodes: workload.spec.type === 'Daemon' ? [...acting.objects.list<Node>('Node')] : [],
      endedMs: (replica) => this.#seen.ageMs(key, replica.metadata.uid),
      revisions: [...revisions.of(key)].filter(isOwned),
      gang: gang !== undefined && isOwned(gang) ? gang : undefined,
    };
  }

  /** Writes the status if it is not what is there; what others keep in it stays. False: others wrote it meanwhile. */
  async #publish(key: string): Promise<boolean> {
    const { objects, env } = this.parts.acting;
    const input = this.#look(key);
    if (input === undefined) return true;
    const { namespace, name, uid, generation } = input.workload.metadata;
    const before = input.workload.status;
    const now = wallTimestamp(env.clock.wall()).replace(/\.\d+Z$/, 'Z');
    const steps = workloadStatus(input, now);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await env.yield();
    const status = step.value;
    if (status === before) return true;
    let isSame = true;
    try {
      await objects.modify<Workload>('Workload', namespace, name, 'status', (live) => {
        if (live.metadata.uid !== uid) return undefined;
        isSame = live.metadata.generation === generation && isDeepStrictEqual(live.status, before);
        return isSame ? { ...live, status: { ...status } } : undefined;
      });
    } catch (error) {
      // It has just been deleted: nobody is left to be told.
      if (!isBerthError(error, 'NotFound')) throw error;
    }
    return isSame;
  }
}

/** The uids of replicas that have ended. */
function* endedIn(slots: Slots): Generator<string> {
  for (const { newest, older } of slots.values()) {
    if (hasEnded(newest)) yield newest.metadata.uid;
    for (const replica of older) if (hasEnded(replica)) yield replica.metadata.uid;
  }
}
