import { noAmount, ownValue } from '../../model/amount.js';
import { refusedByGrant } from '../../model/asked.js';
import type { TenantAccount } from '../../model/records.js';
import type { SchedulingClass } from '../scheduling-class.js';

/** [S3] Takes a class as a whole: how many more replicas of it the grant of its tenant allows. */
export function quotaRoom({ charged, tenant }: SchedulingClass, account: TenantAccount): number {
  if (refusedByGrant(account, charged, tenant) !== undefined) return 0;
  const { grant, used } = account;
  const most = grant?.most ?? noAmount;
  let room = Math.min(
    roomFor(charged.cpuMilli, used.cpuMilli, most.cpuMilli),
    roomFor(charged.memoryBytes, used.memoryBytes, most.memoryBytes),
    roomFor(charged.replicas, used.replicas, most.replicas),
  );
  for (const name in charged.devices) {
    const [each, usedOf, mostOf] = [charged, used, most].map(({ devices }) => ownValue(devices, name));
    room = Math.min(room, roomFor(each, usedOf, mostOf));
  }
  return room;
}

const roomFor = (each = 0, used = 0, most = Number.POSITIVE_INFINITY): number =>
  each > 0 ? Math.floor((most - used) / each) : Number.POSITIVE_INFINITY;
