import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Actor, Authority } from '../../model/ports.js';
import { slotKey, type SlotRecord } from '../../model/records.js';
import { refOf } from '../../model/replica-ref.js';
import type { Reach } from './server.js';

/**
 * Makes one more of a slot whose last replica has ended, takes it back, and has it forgotten with the slot while the one
 * before it is still there.
 */
export async function dropSlotTooEarly(
  { objects, cache }: Reach,
  authority: Authority,
  actor: Actor,
  ended: Replica,
  id: string,
): Promise<void> {
  const tenant = ended.metadata.namespace ?? '';
  const { workload: name, slot, revision, gang } = ended.spec;
  const workload = objects.get<Workload>('Workload', tenant, name);
  const record = cache.record(slotKey(tenant, name, slot))?.value as SlotRecord | undefined;
  if (workload === undefined || record?.replicaUid !== ended.metadata.uid) return;
  const made = await authority.incarnate({
    ...{ actor, tenant, workload: name, workloadUid: workload.metadata.uid, slot, revision },
    ...{ incarnation: record.incarnation + 1, stage: 'Queued', reason: 'Meddling', operation: id },
    ...(gang !== undefined && { gang }),
  });
  if (made.kind !== 'Committed') return;
  const replica = refOf(made.result.replica);
  await authority.release({
    ...{ actor, replica, proof: { kind: 'NeverBound' }, reason: 'Meddling', operation: `${id}/back` },
  });
  await authority.forget({ actor, replica, dropSlot: true, operation: `${id}/gone` });
}
