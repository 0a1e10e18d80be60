import { isBerthError } from '../../model/errors.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import type { SlotIndex } from '../workload/slot-index.js';
import { judgeRevisions } from './judge-revisions.js';

/** Deletes revisions that nobody needs any more. Keys are workloads. */
export class RevisionReconciler implements Reconciler {
  constructor(
    private readonly parts: {
      readonly acting: Acting;
      readonly slots: SlotIndex;
      /** By the key of their workload. */
      readonly revisions: ObjectIndex<WorkloadRevision>;
    },
  ) {}

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting, slots, revisions } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const isReferredTo = (revision: string): boolean => slots.isReferredTo(key, revision);
    for (const { metadata } of judgeRevisions(workload, [...revisions.of(key)], isReferredTo)) {
      if (signal.aborted) return done;
      try {
        await acting.objects.delete('WorkloadRevision', tenant, metadata.name, metadata.uid);
      } catch (error) {
        // Somebody else was faster.
        if (!isBerthError(error, 'NotFound') && !isBerthError(error, 'Conflict')) throw error;
      }
    }
    return done;
  }
}
