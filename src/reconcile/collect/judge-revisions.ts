import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { revisionOf } from '../workload/revision-of.js';
import { controllerUidOf } from '../workload/workload-operations.js';

/** So many of the newest revisions stay, so that a rollback finds the last one. */
const newestKept = 2;

/**
 * [L7] The revisions of a workload that nobody needs: no replica refers to them, and the workload is gone or they
 * are neither among its newest nor the one it asks for, is rolling out or has rolled out.
 */
export function judgeRevisions(
  workload: Workload | undefined,
  revisions: readonly WorkloadRevision[],
  isReferredTo: (revision: string) => boolean,
): WorkloadRevision[] {
  const own = (revision: WorkloadRevision): boolean =>
    workload !== undefined && controllerUidOf(revision) === workload.metadata.uid;
  const newest = revisions
    .filter(own)
    .toSorted((a, b) => b.spec.revision - a.spec.revision)
    .slice(0, newestKept);
  const needed = new Set<string | undefined>(newest.map(({ metadata }) => metadata.name));
  if (workload !== undefined) {
    needed.add(revisionOf(workload).name);
    needed.add(workload.status?.currentRevision);
    needed.add(workload.status?.updateRevision);
  }
  return revisions.filter((revision) => {
    const { name } = revision.metadata;
    return !isReferredTo(name) && !(own(revision) && needed.has(name));
  });
}
