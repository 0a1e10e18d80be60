import type { Actor } from '../../model/ports.js';
import { type Epoch, leaseKey, type LeaseRecord } from '../../model/records.js';
import type { Reach } from './server.js';
import type { Life } from './sim-process.js';

export type ActorKind = Actor['kind'];

/** The actors it plays under leases of its own. */
export const played = ['detector', 'repair-controller', 'rollout'] as const;
/** Those it only pretends to be, under whatever epoch it has seen of them, also long after. */
export const pretended = [
  'scheduler',
  'workload-controller',
  'endpoints-controller',
  'drain',
  'collector',
  'grant-controller',
] as const;

/** An epoch that nobody ever had. */
export const none: Epoch = { cell: 1, number: 0 };

/** The leases of schedulers and of their rivals. */
const schedulers = ['scheduler-0', 'scheduler-1', 'scheduler-rival-a', 'scheduler-rival-0'];

/** Acts as another under the epoch that the other has now, or had. */
export function pretend(
  life: Life,
  { cache }: Reach,
  kind: (typeof played)[number] | (typeof pretended)[number],
): Actor | undefined {
  const names = kind === 'scheduler' ? schedulers : [kind];
  const held = names.filter((one) => cache.record(leaseKey(one)) !== undefined);
  if (held.length === 0) return undefined;
  const name = life.env.random.pick(held);
  const lease = cache.record(leaseKey(name))?.value as LeaseRecord;
  const epoch: Epoch = life.env.random.chance(0.3)
    ? { ...lease.epoch, number: Math.max(1, lease.epoch.number - 1) }
    : lease.epoch;
  return { kind, name: 'meddler', lease: { name, epoch } };
}
