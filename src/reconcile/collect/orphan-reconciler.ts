import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { collectPartsPerMs, Pace } from '../runtime/pace.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { stepsMax } from '../workload/plan-workload.js';
import { sendEnd } from '../workload/workload-operations.js';
import { judgeOrphan } from './judge-orphan.js';

/**
 * Ends and forgets replicas that have lost their workload. Keys are workloads. It acts as the workload controller,
 * whose moves these are, and runs in its term.
 */
export class OrphanReconciler implements Reconciler {
  readonly #pace: Pace;

  constructor(private readonly parts: { readonly acting: Acting; readonly replicas: ObjectIndex<Replica> }) {
    this.#pace = new Pace(parts.acting.env, collectPartsPerMs);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting, replicas } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const mark = workload?.metadata.uid;
    const restMs = this.#pace.restMs(key, mark);
    if (restMs > 0) return after(restMs, 'a large workload is looked at now and then');
    const own = [...replicas.of(key)];
    const steps = own.flatMap((replica) => judgeOrphan(replica, workload) ?? []);
    if (steps.length === 0) {
      this.#pace.looked(key, own.length, mark);
      return done;
    }
    const operations = steps.slice(0, stepsMax).map((step) => () => sendEnd(acting, step));
    const requeue = await carryOut(acting, 'orphans', key, operations, signal);
    return requeue.kind === 'done' && steps.length > stepsMax
      ? after(0, 'there is more to do than fits into one turn')
      : requeue;
  }
}
