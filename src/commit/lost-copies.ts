import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import type { SlotRecord } from '../model/records.js';
import { allowsSecondCopy } from '../model/second-copy.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import { replicaStatus, type Stored, storedReplica, storedRevision, storedWorkload } from './stored.js';

export interface Beside {
  readonly tenant: string;
  readonly workload: string;
  readonly slot: string;
  /** Of the replica that is to be made or placed. */
  readonly revision: Stored<WorkloadRevision>;
}

/**
 * [S5] Why a replica may not be made or placed while another copy of its slot is lost and may still run. Two copies are
 * allowed only if the workload says Replace now, and neither it nor one of the two revisions is AtMostOne: a copy keeps the
 * promise it was started under, and nothing new starts against what the user asks for today. The mode of a revision that is
 * gone is not known, and taken for AtMostOne.
 */
export function refusedBeside(
  draft: Draft,
  { tenant, workload, slot, revision }: Beside,
  copy: NonNullable<SlotRecord['lost']>,
): Rejection | undefined {
  const lost = storedReplica(draft, tenant, copy.replica);
  const lostRevision = lost && storedRevision(draft, tenant, lost.spec.revision);
  const spec = storedWorkload(draft, tenant, workload)?.spec;
  const isAtMostOne =
    lostRevision === undefined ||
    [revision, lostRevision, { spec }].some((one) => one.spec?.template.execution === 'AtMostOne');
  if (!isAtMostOne && spec !== undefined && allowsSecondCopy(spec)) return undefined;
  const node = replicaStatus(draft, tenant, copy.replica)?.binding?.node;
  const on = node === undefined ? '' : ` on ${node}`;
  const rule = isAtMostOne ? 'AtMostOne' : `onNodeLost: ${spec?.onNodeLost?.action ?? 'Wait'}`;
  return reject(
    'SlotTaken',
    `slot ${slot} of ${workload}: ${copy.replica}${on} is lost and may still run, and ${rule} allows no second copy`,
  );
}
