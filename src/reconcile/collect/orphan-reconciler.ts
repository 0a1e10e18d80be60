import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { ObjectChange, Objects } from '../../model/ports.js';
import { type Acting, noKeys, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import type { SlotIndex } from '../workload/slot-index.js';
import { workloadKeysOf } from '../workload/workload-keys.js';
import { isOwnReplica, sendEnd } from '../workload/workload-operations.js';
import { judgeOrphan } from './judge-orphan.js';

/** The workloads of which a change may concern an orphan: a replica that moves is none while its workload is there. */
export function orphanKeysOf(objects: Objects, change: ObjectChange): readonly string[] {
  if (change.kind === 'Replica') {
    // A parsed boundary: the kind says so.
    const replica = change.object as Replica;
    const workload = objects.get<Workload>('Workload', replica.metadata.namespace, replica.spec.workload);
    if (workload !== undefined && isOwnReplica(workload, replica)) return noKeys;
  }
  return workloadKeysOf(objects, change);
}

/** More than that goes on after others had their turn. */
const stepsMax = 1_000;

/**
 * Ends and forgets replicas that have lost their workload. Keys are workloads. It acts as the workload controller,
 * whose moves these are, and runs in its term.
 */
export class OrphanReconciler implements Reconciler {
  constructor(private readonly parts: { readonly acting: Acting; readonly slots: SlotIndex }) {}

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting, slots } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const strangers = [...slots.strangersOf(key, workload?.metadata.uid)];
    const steps = strangers.flatMap((replica) => judgeOrphan(replica, workload) ?? []);
    if (steps.length === 0) return done;
    const operations = steps.slice(0, stepsMax).map((step) => () => sendEnd(acting, step));
    const requeue = await carryOut(acting, 'orphans', key, operations, signal);
    return requeue.kind === 'done' && steps.length > stepsMax
      ? after(0, 'there is more to do than fits into one turn')
      : requeue;
  }
}
