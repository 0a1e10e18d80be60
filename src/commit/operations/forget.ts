import type { Forget } from '../../model/ports.js';
import { objectKey, slotKey, statusKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { findReplica } from '../replica-moves.js';
import { slotRecord } from '../stored.js';
import { endDisruption } from './disrupt.js';

/** Deletes a replica that has ended; with its slot if nobody wants that any more. */
export const forget =
  (context: Context, input: Forget): Decide<undefined> =>
  (draft) => {
    const { tenant, name, uid } = input.replica;
    const replica = findReplica(draft, input.replica);
    if (replica === undefined) return already(undefined);
    const stale = checkActor(context, draft, 'forget', input.actor);
    if (stale !== undefined) return stale;
    if (!isTerminal(replica.status.stage) && context.checks.has('forget.ended'))
      return reject('NoSuchEdge', `${name} is ${replica.status.stage}: it has not ended`);
    const { workload, slot } = replica.stored.spec;
    const record = slotRecord(draft, tenant, workload, slot);
    if (record?.replicaUid === uid) {
      if (!input.dropSlot && context.checks.has('forget.slot'))
        return reject('SlotTaken', `${name} is the last of slot ${slot}: the next one counts from it`);
      if (record.lost !== undefined && context.checks.has('forget.lost'))
        return reject('SlotTaken', `${record.lost.replica} of slot ${slot} is lost and has not ended`);
      // Numbers begin anew without the record, and must not meet a replica of that name.
      if ((record.kept ?? 1) > 1 && context.checks.has('forget.kept'))
        return reject(
          'SlotTaken',
          `earlier replicas of slot ${slot} of ${workload} are still there: forget them first`,
        );
      endDisruption(draft, replica.stored.spec, tenant, true);
      draft.delete(slotKey(tenant, workload, slot));
    } else if (record !== undefined) {
      const { kept = 1, ...rest } = record;
      const left = kept - 1;
      draft.put(slotKey(tenant, workload, slot), left > 1 ? { ...rest, kept: left } : rest);
    }
    draft.delete(objectKey('Replica', tenant, name));
    draft.delete(statusKey('Replica', tenant, name));
    return commit(undefined);
  };
