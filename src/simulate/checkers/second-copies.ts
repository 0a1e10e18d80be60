import type { Replica } from '../../model/kinds/replica.js';
import { allowsSecondCopy } from '../../model/second-copy.js';
import type { SlotRecord } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { type CellView, slotOf } from './cell-view.js';
import type { Commit } from './checker.js';
import { replicaChanges } from './transitions.js';

/**
 * [S5] No commit makes or binds a replica beside a copy of its slot that was bound and has not ended, unless the workload
 * says Replace at that revision, and neither it nor the revision of one of the two is AtMostOne.
 */
export function secondCopies(commit: Commit, cell: CellView): readonly string[] {
  const messages: string[] = [];
  const judge = (what: 'made' | 'bound', replica: Replica | undefined): void => {
    if (replica !== undefined) messages.push(...wrongBeside(cell, what, replica));
  };
  for (const { key, before, after } of commit.changes) {
    const slot = slotOf(key);
    const [was, is] = [before as SlotRecord | undefined, after as SlotRecord | undefined];
    if (slot !== undefined && is !== undefined && was?.replicaUid !== is.replicaUid)
      judge('made', cell.object('Replica', slot.tenant, is.replica));
  }
  for (const { tenant, name, before, after } of replicaChanges(commit))
    if (before?.binding === undefined && after?.binding !== undefined)
      judge('bound', cell.object('Replica', tenant, name));
  return messages;
}

function wrongBeside(cell: CellView, what: 'made' | 'bound', replica: Replica): readonly string[] {
  const { metadata, spec } = replica;
  const tenant = metadata.namespace ?? '';
  const workload = cell.object('Workload', tenant, spec.workload)?.spec;
  const isAtMostOne = (of: Replica): boolean =>
    cell.object('WorkloadRevision', tenant, of.spec.revision)?.spec.template.execution === 'AtMostOne';
  return [...cell.incarnations(tenant, spec.workload, spec.slot)]
    .filter(
      ({ metadata: { uid }, status }) =>
        uid !== metadata.uid && status?.binding !== undefined && !isTerminal(status.stage),
    )
    .flatMap((copy) => {
      const because = isAtMostOne(replica)
        ? `${metadata.name} is AtMostOne`
        : isAtMostOne(copy)
          ? `${copy.metadata.name} is AtMostOne`
          : workload !== undefined && !allowsSecondCopy(workload)
            ? `${spec.workload} says ${workload.template.execution}, ${workload.onNodeLost?.action}`
            : undefined;
      const { name, status } = { name: copy.metadata.name, status: copy.status };
      return because === undefined
        ? []
        : [
            `${tenant}/${metadata.name} was ${what} while ${name} (${status?.stage}) may run on ${status?.binding?.node}, and ${because}`,
          ];
    });
}
