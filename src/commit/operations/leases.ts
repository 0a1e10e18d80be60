import type { RenewLease, Renewed, ResignLease, TakeLease } from '../../model/ports.js';
import {
  type Epoch,
  leaseKey,
  type LeaseRecord,
  nobody,
  nodeOfLease,
  sameEpoch,
  shownEpoch,
} from '../../model/records.js';
import { type Context, nextEpoch } from '../context.js';
import { already, commit, commitAt, type Decide, reject, type Rejection } from '../decision.js';
import { endedTerm } from '../ended-term.js';
import { leaseRecord, nodeEpoch, storedFence } from '../stored.js';
import { fenceOf } from './fence.js';

/** Takes a lease under the next epoch, if its last holder may be passed over. */
export const takeLease =
  (context: Context, input: TakeLease): Decide<{ readonly epoch: Epoch }> =>
  (draft) => {
    const key = leaseKey(input.name);
    // [S8] The epoch of a node's lease is the epoch of the node, which a registration alone makes.
    if (nodeOfLease(input.name) !== undefined && context.checks.has('owner.lease.node'))
      return reject('NotOwner', `the lease ${input.name} comes with the registration of its node`);
    const current = leaseRecord(draft, input.name);
    // Also if that term has ended: a copy that arrives late begins no other.
    if (current?.operation === input.operation) return already({ epoch: current.epoch });
    const isFree =
      current === undefined ||
      current.holder === nobody ||
      input.unchangedSince === 'Alone' ||
      (input.unchangedSince !== undefined && draft.versionOf(key) === input.unchangedSince);
    if (!isFree && context.checks.has('owner.lease.take'))
      return reject('NotOwner', `lease ${input.name} is held by ${current.holder} and was renewed meanwhile`);
    const epoch = nextEpoch(context.cell, current?.epoch);
    const reason = input.unchangedSince === 'Alone' ? 'HolderGone' : 'NotRenewed';
    draft.put(key, {
      holder: input.holder,
      epoch,
      durationSeconds: input.durationSeconds,
      ...(input.address !== undefined && { address: input.address }),
      acquiredAt: context.at,
      renewedAt: context.at,
      renewals: 0,
      operation: input.operation,
      ...endedTerm(current, { endedBy: input.holder, endedAt: context.at, reason }),
    } satisfies LeaseRecord);
    return commit({ epoch });
  };

/** Acknowledged only after it is committed. Many share a transaction; one with a stale epoch is dropped alone. */
export const renewLease =
  (context: Context, input: RenewLease): Decide<Renewed> =>
  (draft) => {
    const current = leaseRecord(draft, input.name);
    if (current === undefined) return noLease(input);
    if (!isTermOf(input, current) && context.checks.has('epoch.renew.lease'))
      return staleTerm(input, current);
    // A fence has expired under that epoch: an acknowledgement would let run what was declared ended (§8).
    const node = nodeOfLease(input.name);
    if (
      node !== undefined &&
      nodeEpoch(draft, node)?.state === 'Closed' &&
      context.checks.has('epoch.renew.open')
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

/**
 * Its holder gives a lease up. The epoch stays, so that the next one is larger; the record says who gave the lease up, and
 * why.
 */
export const resignLease =
  (context: Context, input: ResignLease): Decide<undefined> =>
  (draft) => {
    const current = leaseRecord(draft, input.name);
    if (current === undefined) return noLease(input);
    const { lastTerm } = current;
    const hasResigned =
      current.holder === nobody &&
      lastTerm?.holder === input.holder &&
      sameEpoch(lastTerm.epoch, input.epoch);
    if (hasResigned) return already(undefined);
    if (!isTermOf(input, current) && context.checks.has('epoch.resign.lease'))
      return staleTerm(input, current);
    draft.put(leaseKey(input.name), {
      ...current,
      holder: nobody,
      lastTerm: {
        holder: current.holder,
        epoch: input.epoch,
        endedBy: input.holder,
        endedAt: context.at,
        reason: input.reason,
      },
    } satisfies LeaseRecord);
    return commit(undefined);
  };

/** [S8] The holder and the epoch: each term has an epoch of its own. */
const isTermOf = ({ holder, epoch }: RenewLease, current: LeaseRecord): boolean =>
  current.holder === holder && sameEpoch(current.epoch, epoch);

const noLease = ({ name }: RenewLease): Rejection => reject('StaleEpoch', `there is no lease ${name}`);

const staleTerm = ({ name, holder, epoch }: RenewLease, current: LeaseRecord): Rejection =>
  reject(
    'StaleEpoch',
    `lease ${name} is at epoch ${shownEpoch(current.epoch)} with ${current.holder || 'nobody'}, not at ${shownEpoch(epoch)} with ${holder}`,
  );
