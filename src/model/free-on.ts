import { type Amount, countOf, ownValue, subtractAmounts } from './amount.js';
import type { NodeAccount } from './records.js';

/**
 * The amounts left on a node. Devices are counted twice, as an amount and as ids that nobody claims: the smaller count is
 * what another replica can get.
 */
export function freeOn({
  allocatable,
  used,
  devices,
  claims,
}: Pick<NodeAccount, 'allocatable' | 'used' | 'devices' | 'claims'>): Amount {
  const free = subtractAmounts(allocatable, used);
  if (free.devices === undefined) return free;
  const left: Record<string, number> = {};
  for (const name of Object.keys(free.devices)) {
    const ids = (ownValue(devices, name) ?? []).filter((id) => ownValue(claims.devices, id) === undefined);
    left[name] = Math.min(countOf(free, `device/${name}`) ?? 0, ids.length);
  }
  return { ...free, devices: left };
}
