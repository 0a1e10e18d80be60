import { countOf, eachResource } from '../../model/amount.js';
import { refusedByGrant } from '../../model/asked.js';
import type { TenantAccount } from '../../model/records.js';
import type { SchedulingClass } from '../scheduling-class.js';

/** [S3] Takes a class as a whole: how many more replicas of it the grant of its tenant allows. */
export function quotaRoom({ charged, tenant }: SchedulingClass, account: TenantAccount): number {
  if (refusedByGrant(account, charged, tenant) !== undefined) return 0;
  let room = Number.POSITIVE_INFINITY;
  for (const [resource, each] of eachResource(charged)) {
    const most = countOf(account.grant?.most ?? {}, resource);
    if (most !== undefined && each > 0)
      room = Math.min(room, Math.floor((most - (countOf(account.used, resource) ?? 0)) / each));
  }
  return room;
}
