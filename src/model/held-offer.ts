import { amountOf, firstOver, ownValue, subtractAmounts } from './amount.js';
import type { Charge } from './parts/charge.js';
import type { NodeAccount } from './records.js';
import { shownResource } from './shown-resource.js';

/**
 * [S2] Why what a hold is charged with cannot be used on its node any more; undefined if it can. A node that comes back
 * with less does not have what was held before, and nothing new begins on one that offers less than is committed of it.
 */
export function whyNotOffered(
  { allocatable, used, devices }: Pick<NodeAccount, 'allocatable' | 'used' | 'devices'>,
  charge: Charge,
): string | undefined {
  for (const [name, ids] of Object.entries(charge.devices ?? {})) {
    const offered = ownValue(devices, name) ?? [];
    const gone = ids.find((id) => !offered.includes(id));
    if (gone !== undefined) return `device ${gone} is not offered any more`;
  }
  const amount = amountOf(charge.amounts);
  // What it is charged with is part of what is used.
  const over = firstOver(subtractAmounts(used, amount), amount, allocatable, 'isNone');
  return over === undefined ? undefined : `more ${shownResource(over)} is committed than is offered`;
}
