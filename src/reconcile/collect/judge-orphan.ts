import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { endSteps, type EndStep } from '../workload/plan-workload.js';
import { hasEnded } from '../workload/slot-wishes.js';
import { isOwnReplica } from '../workload/workload-operations.js';

/**
 * [L7] What becomes of a replica whose workload is gone, or is another one that has its name now; undefined:
 * nothing, because it has its workload or is on its way out.
 */
export function judgeOrphan(replica: Replica, workload: Workload | undefined): EndStep | undefined {
  if (workload !== undefined && isOwnReplica(workload, replica)) return undefined;
  if (hasEnded(replica)) return { kind: 'Forget', replica, dropSlot: true };
  const [step] = endSteps(replica, 'WorkloadGone');
  return step;
}
