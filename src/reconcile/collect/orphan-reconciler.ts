import type { Workload } from '../../model/kinds/workload.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { stepsMax } from '../workload/plan-workload.js';
import type { SlotIndex } from '../workload/slot-index.js';
import { sendEnd } from '../workload/workload-operations.js';
import { judgeOrphan } from './judge-orphan.js';

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
