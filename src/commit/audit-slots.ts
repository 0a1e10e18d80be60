import { replicaName, type SlotRecord, slotKey } from '../model/records.js';
import { isTerminal } from '../model/stages.js';
import type { AuditRecords, RecordedReplica } from './audit-records.js';
import type { Difference } from './difference.js';

/** [S5] [S12] Each slot names its last incarnation; beside it at most one is lost; AtMostOne means one binding. */
export function* wrongSlots(records: AuditRecords): Generator<Difference> {
  const bySlot = new Map<string, RecordedReplica[]>();
  for (const at of records.slots.keys()) bySlot.set(at, []);
  for (const replica of records.replicas.values()) {
    const { stored, status, tenant, key } = replica;
    if (stored === undefined || status === undefined) {
      const found = stored === undefined ? 'a status without its object' : 'an object without its status';
      yield { rule: 'S12', keys: [key], found, expected: 'both keys of the replica' };
      continue;
    }
    const at = `${tenant}/${stored.spec.workload}/${stored.spec.slot}`;
    bySlot.set(at, [...(bySlot.get(at) ?? []), replica]);
  }
  for (const [at, incarnations] of bySlot) yield* wrongSlot(records, at, records.slots.get(at), incarnations);
}

const shown = ({ name, status }: RecordedReplica): string => `${name} (${status?.stage})`;
const uidOf = ({ stored }: RecordedReplica): string => stored?.metadata.uid ?? '';
const isLive = ({ status }: RecordedReplica): boolean => status !== undefined && !isTerminal(status.stage);
const isActive = ({ status }: RecordedReplica): boolean =>
  status?.stage !== 'Unknown' && status?.stage !== 'Releasing';

function* wrongSlot(
  records: AuditRecords,
  at: string,
  record: SlotRecord | undefined,
  incarnations: readonly RecordedReplica[],
): Generator<Difference> {
  const [tenant = '', workload = '', slot = ''] = at.split('/');
  const key = slotKey(tenant, workload, slot);
  const differ = (
    rule: Difference['rule'],
    found: string,
    expected: string,
    others: readonly RecordedReplica[] = [],
  ): Difference => ({ rule, keys: [key, ...others.map((other) => other.key)], found, expected });
  const live = incarnations.filter(isLive);

  for (const replica of incarnations) {
    const name = replicaName(workload, slot, replica.stored?.spec.incarnation ?? 0);
    if (replica.name !== name) yield differ('S12', `replica ${replica.name}`, `replica ${name}`, [replica]);
  }
  const active = live.filter(isActive);
  if (active.length > 1)
    yield differ('S12', `active at once: ${active.map(shown).join(', ')}`, 'one at most', active);
  const bound = live.filter(({ status }) => status?.binding !== undefined);
  const isAtMostOne = bound.some(({ stored }) => records.atMostOne.has(`${tenant}/${stored?.spec.revision}`));
  if (isAtMostOne && bound.length > 1)
    yield differ('S5', `bound: ${bound.map(shown).join(', ')}`, 'one binding, for it is AtMostOne', bound);

  if (record === undefined) {
    if (live.length > 0)
      yield differ('S12', 'no slot record', `one that names ${live.map(shown).join(' or ')}`, live);
    return;
  }
  const named = incarnations.find((replica) => uidOf(replica) === record.replicaUid);
  const highest = incarnations.reduce((most, { stored }) => Math.max(most, stored?.spec.incarnation ?? 0), 0);
  if (named?.name !== record.replica || named.stored?.spec.incarnation !== record.incarnation)
    yield differ(
      'S12',
      `it names ${record.replica} with uid ${record.replicaUid}, incarnation ${record.incarnation}`,
      `a replica that is there: ${incarnations.map((each) => `${each.name} with uid ${uidOf(each)}`).join(', ') || 'none is'}`,
    );
  else if (record.incarnation !== highest)
    yield differ('S12', `it names incarnation ${record.incarnation}`, `the highest, ${highest}`);
  for (const replica of live) {
    const uid = uidOf(replica);
    if (uid !== record.replicaUid && uid !== record.lost?.replicaUid)
      yield differ('S12', `${shown(replica)} beside it`, 'none but the one that is lost', [replica]);
  }
  if (record.lost !== undefined && !live.some((replica) => uidOf(replica) === record.lost?.replicaUid))
    yield differ('S12', `it says that ${record.lost.replica} is lost`, 'a replica that has not ended');
}
