import type { RenewLease, Renewed, TakeLease } from '../../model/ports.js';
import {
  type Epoch,
  leaseKey,
  type LeaseRecord,
  nodeOfLease,
  sameEpoch,
  shownEpoch,
} from '../../model/records.js';
import { type Context, nextEpoch } from '../context.js';
import { already, commit, commitAt, type Decide, reject } from '../decision.js';
import { leaseRecord, nodeEpoch, storedFence } from '../stored.js';
import { fenceOf } from './fence.js';

/** A lease that was given up: anybody may take it at once. */
const nobody = '';

/** Takes a lease under the next epoch, if its last holder may be passed over. */
export const takeLease =
  (context: Context, input: TakeLease): Decide<{ readonly epoch: Epoch }> =>
  (draft) => {
    const key = leaseKey(input.name);
    const current = leaseRecord(draft, input.name);
    if (current?.operation === input.operation && current.holder === input.holder)
      return already({ epoch: current.epoch });
    const isFree =
      current === undefined ||
      current.holder === nobody ||
      input.unchangedSince === 'Alone' ||
      (input.unchangedSince !== undefined && draft.versionOf(key) === input.unchangedSince);
    if (!isFree && context.checks.has('owner.lease.take'))
      return reject('NotOwner', `lease ${input.name} is held by ${current.holder} and was renewed meanwhile`);
    const epoch = nextEpoch(context.cell, current?.epoch);
    draft.put(key, {
      holder: input.holder,
      epoch,
      durationSeconds: input.durationSeconds,
      ...(input.address !== undefined && { address: input.address }),
      acquiredAt: context.at,
      renewedAt: context.at,
      renewals: 0,
      operation: input.operation,
    } satisfies LeaseRecord);
    return commit({ epoch });
  };

/** Acknowledged only after it is committed. Many share a transaction; one with a stale epoch is dropped alone. */
export const renewLease =
  (context: Context, input: RenewLease): Decide<Renewed> =>
  (draft) => {
    const current = leaseRecord(draft, input.name);
    if (
      current === undefined ||
      ((current.holder !== input.holder || !sameEpoch(current.epoch, input.epoch)) &&
        context.checks.has('epoch.renew'))
    )
      return reject('StaleEpoch', staleMessage(input, current));
    // A fence has expired under that epoch: an acknowledgement would let run what was declared ended (§8).
    const node = nodeOfLease(input.name);
    if (
      node !== undefined &&
      nodeEpoch(draft, node)?.state === 'Closed' &&
      context.checks.has('epoch.renewClosed')
    )
      return reject(
        'StaleEpoch',
        `epoch ${shownEpoch(input.epoch)} of node ${node} was closed: it has to register again`,
      );
    draft.put(leaseKey(input.name), {
      ...current,
      renewedAt: context.at,
      renewals: current.renewals + 1,
    } satisfies LeaseRecord);
    // Read here and not from a cache: a permit is never longer than the window of a release after it reckons with.
    const fence = fenceOf(storedFence(draft));
    return commitAt((version) => ({ epoch: current.epoch, leaseRevision: Number(version), fence }));
  };

/** Gives a lease up. Its epoch stays, so that the next one is larger. */
export const resignLease =
  (context: Context, input: RenewLease): Decide<undefined> =>
  (draft) => {
    const current = leaseRecord(draft, input.name);
    if (
      current === undefined ||
      (!sameEpoch(current.epoch, input.epoch) && context.checks.has('epoch.renew'))
    )
      return reject('StaleEpoch', staleMessage(input, current));
    if (current.holder === nobody) return already(undefined);
    draft.put(leaseKey(input.name), { ...current, holder: nobody } satisfies LeaseRecord);
    return commit(undefined);
  };

const staleMessage = ({ name, holder, epoch }: RenewLease, current: LeaseRecord | undefined): string =>
  current === undefined
    ? `there is no lease ${name}`
    : `lease ${name} is at epoch ${shownEpoch(current.epoch)} with ${current.holder || 'nobody'}, not at ${shownEpoch(epoch)} with ${holder}`;
