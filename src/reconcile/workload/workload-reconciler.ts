import { wallTimestamp } from '../../env/instant.js';
import { isBerthError } from '../../model/errors.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { type PlanInput, planWorkload } from './plan-workload.js';
import { hasEnded, slotsOf } from './slot-wishes.js';
import {
  controllerUidOf,
  isOwnReplica,
  isReplicaStep,
  sendStep,
  takeObjectStep,
} from './workload-operations.js';
import { workloadStatus } from './workload-status.js';

/** Makes the replicas of a workload what its spec asks for, and its status what they are. */
export class WorkloadReconciler implements Reconciler {
  readonly #seen: FirstSeen;

  constructor(
    private readonly parts: {
      readonly acting: Acting;
      /** By the key of their workload. */
      readonly replicas: ObjectIndex<Replica>;
      readonly revisions: ObjectIndex<WorkloadRevision>;
    },
  ) {
    this.#seen = new FirstSeen(parts.acting.env);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting } = this.parts;
    const input = this.#look(key);
    if (input === undefined) return done;
    const { workload } = input;
    const plan = planWorkload(input);
    for (const step of plan.steps) {
      if (isReplicaStep(step)) continue;
      await takeObjectStep(acting, workload, step);
      if (step.kind === 'RemoveFinalizer') return done;
    }
    const operations = plan.steps.filter(isReplicaStep).map((step) => () => sendStep(acting, workload, step));
    const requeue = await carryOut(acting, 'workload', key, operations, signal);
    if (signal.aborted) return done;
    await this.#publish(key);
    if (requeue.kind !== 'done') return requeue;
    if (plan.isMore) return after(0, 'there is more to do than fits into one turn');
    return plan.waitMs === undefined ? done : after(plan.waitMs, 'a slot waits for its next incarnation');
  }

  #look(key: string): PlanInput | undefined {
    const { acting, replicas, revisions } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const own =
      workload === undefined
        ? []
        : [...replicas.of(key)].filter((replica) => isOwnReplica(workload, replica));
    this.#seen.retain(
      key,
      own.filter(hasEnded).map(({ metadata }) => metadata.uid),
    );
    if (workload === undefined) return undefined;
    const isOwned = (object: WorkloadRevision | Gang): boolean =>
      controllerUidOf(object) === workload.metadata.uid;
    const gang = acting.objects.get<Gang>('Gang', tenant, name);
    return {
      workload,
      slots: slotsOf(own),
      nodes: workload.spec.type === 'Daemon' ? acting.objects.list<Node>('Node') : [],
      endedMs: (replica) => this.#seen.ageMs(key, replica.metadata.uid),
      revisions: [...revisions.of(key)].filter(isOwned),
      gang: gang !== undefined && isOwned(gang) ? gang : undefined,
    };
  }

  /** Writes the status if it is not what is there; what others keep in it stays. */
  async #publish(key: string): Promise<void> {
    const { objects, env } = this.parts.acting;
    const input = this.#look(key);
    if (input === undefined) return;
    const { namespace, name, uid } = input.workload.metadata;
    const now = wallTimestamp(env.clock.wall()).replace(/\.\d+Z$/, 'Z');
    if (workloadStatus(input, now) === input.workload.status) return;
    try {
      await objects.modify<Workload>('Workload', namespace, name, 'status', (live) => {
        if (live.metadata.uid !== uid) return undefined;
        const status = workloadStatus({ ...input, workload: live }, now);
        return status === live.status ? undefined : { ...live, status: { ...status } };
      });
    } catch (error) {
      // It has just been deleted: nobody is left to be told.
      if (!isBerthError(error, 'NotFound')) throw error;
    }
  }
}
