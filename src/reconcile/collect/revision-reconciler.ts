import { isBerthError } from '../../model/errors.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { ObjectChange, Objects } from '../../model/ports.js';
import { type Acting, keyOfObject, noKeys, splitKey } from '../runtime/acting.js';
import type { ObjectIndex } from '../../model/object-index.js';
import { done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import type { SlotIndex } from '../workload/slot-index.js';
import { workloadKeysOf } from '../workload/workload-keys.js';
import { judgeRevisions } from './judge-revisions.js';

/**
 * The workloads of which a change may leave a revision that nobody needs. How far a replica has come does not: only that
 * it is there, and what its workload says.
 */
export function revisionKeysOf(objects: Objects, change: ObjectChange): readonly string[] {
  const { kind, type } = change;
  if (kind === 'Replica' && type === 'MODIFIED') return noKeys;
  const keys = workloadKeysOf(objects, change);
  if (kind !== 'Workload' || type !== 'MODIFIED') return keys;
  // A parsed boundary: the kind says so.
  const [after, before] = [change.object as Workload, change.before as Workload | undefined];
  return after.status?.currentRevision === before?.status?.currentRevision
    ? keys
    : [...keys, keyOfObject(after.metadata.namespace, after.metadata.name)];
}

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
