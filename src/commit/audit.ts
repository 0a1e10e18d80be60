import { nodeAccountKey, nodeEpochKey, sameEpoch, shownEpoch } from '../model/records.js';
import { isTerminal } from '../model/stages.js';
import type { Versions } from '../model/versions.js';
import type { AuditRecords, RecordedReplica } from './audit-records.js';
import type { Difference } from './difference.js';
import { wrongSlots } from './audit-slots.js';
import { wrongSums } from './audit-sums.js';

export interface Audited {
  /** How many of each were looked at. */
  readonly checked: Readonly<Record<string, number>>;
  readonly differences: readonly Difference[];
  /** How many more differences there are. */
  readonly more: number;
}

const differencesMax = 1_000;

/**
 * Adds up the charges of all records at one revision and compares with what the accounts say; looks at bindings,
 * holds and slots. Knows how records are made, and nothing of how they came to be.
 */
export function audit(records: AuditRecords, versions: Versions): Audited {
  const differences: Difference[] = [];
  let more = 0;
  for (const found of [
    wrongSums(records),
    wrongEpochs(records),
    wrongBindings(records, versions),
    wrongHolds(records),
    wrongSlots(records),
  ])
    for (const difference of found) {
      if (differences.length < differencesMax) differences.push(difference);
      else more += 1;
    }
  const { nodes, tenants, workloads, slots, replicas, holds } = records;
  return {
    checked: {
      ...{ nodes: nodes.size, tenants: tenants.size, workloads: workloads.size },
      ...{ slots: slots.size, replicas: replicas.size, holds: holds.size },
    },
    differences,
    more,
  };
}

/** [S8] The epoch that an account names is the node's, and open: what is bound under it does not look any further. */
function* wrongEpochs({ nodes, epochs }: AuditRecords): Generator<Difference> {
  for (const [node, { epoch }] of nodes) {
    const current = epochs.get(node);
    if (epoch === undefined || (current?.state === 'Open' && sameEpoch(current.epoch, epoch))) continue;
    yield {
      ...{ rule: 'S8', keys: [nodeAccountKey(node), nodeEpochKey(node)] },
      found: `the account names epoch ${shownEpoch(epoch)}`,
      expected: current === undefined ? 'none' : `${shownEpoch(current.epoch)}, which is ${current.state}`,
    };
  }
}

/** [S5] [S7] A live binding is on the node that is charged, with the fence of its creation. */
function* wrongBindings(records: AuditRecords, versions: Versions): Generator<Difference> {
  for (const replica of records.replicas.values()) {
    const { status, stored, key, createRevision } = replica;
    if (stored === undefined || status?.binding === undefined || isTerminal(status.stage)) continue;
    const { binding, charge } = status;
    const differ = (rule: 'S5' | 'S7', found: string, expected: string): Difference => ({
      ...{ rule, keys: [key], found, expected },
    });
    if (charge === undefined) yield differ('S7', `bound to ${binding.node} and not charged`, 'a charge');
    else if (charge.node !== binding.node)
      yield differ('S5', `bound to ${binding.node}, charged on ${charge.node}`, 'one node');
    const fence = versions.ofObject(createRevision);
    // A binding of an earlier release keeps the fence it was given.
    if (binding.fence !== String(fence) && binding.fence !== String(versions.earlierOfObject(createRevision)))
      yield differ('S5', `fence ${binding.fence}`, `fence ${fence}, when it was created`);
  }
}

/** [S7] [S9] What is held is charged, and held for the replica that waits with it; nobody is awaited who has ended. */
function* wrongHolds(records: AuditRecords): Generator<Difference> {
  const live = new Set<string>();
  for (const replica of records.replicas.values()) {
    const { status, stored } = replica;
    if (status !== undefined && stored !== undefined && !isTerminal(status.stage))
      live.add(stored.metadata.uid);
    if (status?.stage === 'Scheduled') yield* wrongHoldOf(records, replica);
  }
  for (const { key, status } of records.holds.values()) {
    if (status?.state !== 'Held') continue;
    if (status.charge === undefined)
      yield { rule: 'S7', keys: [key], found: 'Held and not charged', expected: 'a charge' };
    for (const { replica, uid } of status.awaits ?? [])
      if (!live.has(uid))
        yield {
          ...{ rule: 'S9' as const, keys: [key] },
          ...{ found: `awaits ${replica} (${uid}), which has ended`, expected: 'what it gave up' },
        };
  }
}

function* wrongHoldOf(
  records: AuditRecords,
  { key, tenant, name, stored, status }: RecordedReplica,
): Generator<Difference> {
  const hold = records.holds.get(`${tenant}/${status?.hold ?? ''}`);
  const owner = hold?.stored?.spec.owner;
  if (hold?.status?.state === 'Held' && owner?.uid === stored?.metadata.uid) return;
  const found =
    hold === undefined
      ? `${status?.hold ?? 'no hold'}, which is not there`
      : `${hold.name}, ${hold.status?.state}, for ${owner?.name} (${owner?.uid})`;
  yield {
    rule: 'S9',
    keys: hold === undefined ? [key] : [key, hold.key],
    found: `Scheduled with ${found}`,
    expected: `a hold that is Held for ${name} (${stored?.metadata.uid})`,
  };
}
