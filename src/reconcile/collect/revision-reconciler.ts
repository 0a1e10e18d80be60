import { isBerthError } from '../../model/errors.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { collectPartsPerMs, Pace } from '../runtime/pace.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { judgeRevisions } from './judge-revisions.js';

/** Deletes revisions that nobody needs any more. Keys are workloads. */
export class RevisionReconciler implements Reconciler {
  readonly #pace: Pace;

  constructor(
    private readonly parts: {
      readonly acting: Acting;
      /** By the key of their workload. */
      readonly replicas: ObjectIndex<Replica>;
      readonly revisions: ObjectIndex<WorkloadRevision>;
    },
  ) {
    this.#pace = new Pace(parts.acting.env, collectPartsPerMs);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting, replicas, revisions } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    const restMs = this.#pace.restMs(key, workload?.metadata.uid);
    if (restMs > 0) return after(restMs, 'a large workload is looked at now and then');
    const referredTo = new Set<string>();
    let count = 0;
    for (const { spec } of replicas.of(key)) {
      referredTo.add(spec.revision);
      count += 1;
    }
    this.#pace.looked(key, count, workload?.metadata.uid);
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
