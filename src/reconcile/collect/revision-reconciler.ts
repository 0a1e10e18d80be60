import { isBerthError } from '../../model/errors.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { judgeRevisions } from './judge-revisions.js';

/** Deletes revisions that nobody needs any more. Keys are workloads. */
export class RevisionReconciler implements Reconciler {
  constructor(
    private readonly parts: {
      readonly acting: Acting;
      /** By the key of their workload. */
      readonly replicas: ObjectIndex<Replica>;
      readonly revisions: ObjectIndex<WorkloadRevision>;
    },
  ) {}

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting, replicas, revisions } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const referredTo = new Set([...replicas.of(key)].map(({ spec }) => spec.revision));
    for (const { metadata } of judgeRevisions(workload, [...revisions.of(key)], (one) =>
      referredTo.has(one),
    )) {
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
