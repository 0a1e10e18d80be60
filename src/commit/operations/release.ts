import { whyNotOffered } from '../../model/held-offer.js';
import type { Reservation, ReservationStatus } from '../../model/kinds/reservation.js';
import { isInJournal } from '../../model/journal.js';
import type { ReplicaBinding } from '../../model/kinds/replica.js';
import type { Release, ReleaseHold, ReleaseProof } from '../../model/ports.js';
import { leaseKey, type NodeEpoch, nodeLeaseName, sameEpoch } from '../../model/records.js';
import type { Stage, StageActor } from '../../model/stages.js';
import { unpostCharge } from '../accounts.js';
import { checkActor, checkEdge } from '../act.js';
import { closeEpoch } from '../close-epoch.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject, type Rejection } from '../decision.js';
import type { Draft } from '../draft.js';
import { checkPlacementRules } from '../placement-rules.js';
import {
  carriedByNode,
  findReplica,
  movedBefore,
  type LiveReplica,
  moveReplica,
  stepBy,
  replicaGone,
} from '../replica-moves.js';
import {
  gangStatus,
  leaseRecord,
  nodeAccount,
  nodeEpoch,
  putStatus,
  replicaStatus,
  statusOf,
  storedFence,
  storedNode,
  storedReplica,
  storedReservation,
  storedRevision,
  type Stored,
} from '../stored.js';

/** Declares a replica ended without its agent's word, on proof that it does not run. */
export const release =
  (context: Context, input: Release): Decide<{ readonly stage: Stage }> =>
  (draft) => {
    const replica = findReplica(draft, input.replica);
    if (replica === undefined) return replicaGone(input.replica);
    const { stage } = replica.status;
    const moved = movedBefore(context, replica.status, input.operation);
    if (moved !== undefined) return already({ stage: moved });
    const refused =
      checkActor(context, draft, 'release', input.actor) ??
      checkEdge(context, input.actor.kind as StageActor, stage, 'Released') ??
      checkProof(context, draft, input, replica);
    if (refused !== undefined) return refused;
    if (stage === 'Scheduled') {
      const freed = freeHold(context, draft, {
        tenant: replica.tenant,
        name: replica.status.hold ?? '',
        state: 'Released',
        reason: input.reason,
        isOwnerEnding: true,
      });
      if (freed !== undefined) return freed;
    }
    const by = stepBy(input.actor);
    const { hold: _, ...status } = replica.status;
    moveReplica(
      context,
      draft,
      { ...replica, status },
      {
        ...by,
        to: 'Released',
        reason: input.reason,
        operation: input.operation,
        evidence: { ...by.evidence, proof: input.proof.kind },
      },
    );
    return commit({ stage: 'Released' });
  };

function checkProof(
  context: Context,
  draft: Draft,
  { proof, actor }: Release,
  { name, status }: LiveReplica,
): Rejection | undefined {
  const { binding } = status;
  if (proof.kind === 'NeverBound')
    return (binding === undefined && actor.kind === 'workload-controller') ||
      !context.checks.has('release.neverBound')
      ? undefined
      : reject(
          'NotOwner',
          `${name} was bound to ${binding?.node ?? 'no node'}: that nothing ran there is for its agent to say`,
        );
  if (binding === undefined) return reject('NoSuchEdge', `${name} was never bound`);
  const epoch = nodeEpoch(draft, binding.node);
  if (epoch === undefined) return reject('NodeChanged', `node ${binding.node} has no epoch`);
  if (proof.kind === 'Attested')
    return epoch.attestation !== undefined || !context.checks.has('release.attestation')
      ? undefined
      : reject('NotOwner', `nobody attests that what ran on ${binding.node} has stopped`);
  // As it was bound: what its workload says by now its agent may never have heard.
  if (binding.isFenced !== true && context.checks.has('release.contract'))
    return reject(
      'NotOwner',
      `${name} does not stop by itself: only AtMostOne replicas whose workload said Fence when they were bound end with their fence`,
    );
  const { windowSeconds } = storedFence(draft);
  if (proof.kind === 'JournalExpired')
    return checkJournalProof(context, proof, epoch, binding, windowSeconds);
  if (proof.stoodSeconds < windowSeconds && context.checks.has('release.window'))
    return reject(
      'FenceUnsound',
      `the lease of ${binding.node} stood for ${proof.stoodSeconds} s; the fence window is ${windowSeconds} s`,
    );
  const key = leaseKey(nodeLeaseName(binding.node));
  const isUnchanged =
    leaseRecord(draft, nodeLeaseName(binding.node)) !== undefined &&
    draft.versionOf(key) === proof.leaseRevision;
  if (!isUnchanged && context.checks.has('release.fence'))
    return reject('NodeChanged', `node ${binding.node} has renewed its lease meanwhile`);
  // Whoever still acts under the epoch that expired is too late from now on.
  if (epoch.state !== 'Closed' && context.checks.has('release.closeEpoch'))
    closeEpoch(context, draft, binding.node, epoch);
  return undefined;
}

/** [S5] Nobody was permitted to run it after the journal began, and since then W has passed. */
function checkJournalProof(
  context: Context,
  proof: ReleaseProof & { readonly kind: 'JournalExpired' },
  { journalSince }: NodeEpoch,
  binding: ReplicaBinding,
  windowSeconds: number,
): Rejection | undefined {
  const { node } = binding;
  const isSame = journalSince !== undefined && sameEpoch(journalSince, proof.journalSince);
  if (!isSame && context.checks.has('epoch.release.journal'))
    return reject('NodeChanged', `${node} has another journal by now`);
  if (isInJournal(binding, journalSince) && context.checks.has('release.journal'))
    return reject('NodeChanged', `the agent of ${node} knows of what is to be released`);
  if (proof.stoodSeconds < windowSeconds && context.checks.has('release.journalWindow'))
    return reject(
      'FenceUnsound',
      `the journal of ${node} began ${proof.stoodSeconds} s ago; the fence window is ${windowSeconds} s`,
    );
  return undefined;
}

/** Gives a hold up, or puts its expiry into effect: once, and its replica is queued again. */
export const releaseHold =
  (context: Context, input: ReleaseHold): Decide<undefined> =>
  (draft) => {
    const { tenant, reservation: name } = input;
    const stored = storedReservation(draft, tenant, name);
    const status = statusOf<Reservation>(draft, 'Reservation', tenant, name) as ReservationStatus | undefined;
    if (stored === undefined || status === undefined || stored.metadata.uid !== input.uid)
      return reject('HoldGone', `hold ${tenant}/${name} is gone`);
    if (status.state === input.as) return already(undefined);
    const stale = checkActor(context, draft, 'releaseHold', input.actor);
    if (stale !== undefined) return stale;
    const freed = freeHold(context, draft, {
      tenant,
      name,
      state: input.as,
      reason: input.reason,
      isOwnerEnding: false,
    });
    if (freed !== undefined) return freed;
    const { owner } = stored.spec;
    const replica = storedReplica(draft, tenant, owner.name);
    const held = replicaStatus(draft, tenant, owner.name);
    if (replica?.metadata.uid === owner.uid && held?.stage === 'Scheduled' && held.hold === name) {
      const { hold: _, ...rest } = held;
      const by = stepBy(input.actor);
      moveReplica(
        context,
        draft,
        { tenant, name: owner.name, stored: replica, status: rest },
        {
          ...by,
          to: 'Queued',
          reason: input.as === 'Expired' ? 'HoldExpired' : 'HoldReleased',
          operation: input.operation,
        },
      );
    }
    return commit(undefined);
  };

/** [L7] Nobody can say when those end: until then it is no room to go forward to, and its member may find other. */
const isAwaiting = ({ awaits }: ReservationStatus): boolean => (awaits ?? []).length > 0;

/** [L7] Its node would not take its owner any more: there the hold cannot become a binding, whatever its gang is. */
function isStranded(
  context: Context,
  draft: Draft,
  tenant: string,
  { spec }: Stored<Reservation>,
  { charge, awaits = [] }: ReservationStatus,
): boolean {
  const node = storedNode(draft, undefined, spec.node);
  const account = nodeAccount(draft, spec.node);
  const replica = storedReplica(draft, tenant, spec.owner.name);
  const revision = replica && storedRevision(draft, tenant, replica.spec.revision);
  if (node === undefined || account === undefined || revision === undefined) return true;
  if (nodeEpoch(draft, spec.node)?.state !== 'Open') return true;
  // As bind says it, which is asked only once nothing is awaited.
  if (awaits.length === 0 && charge !== undefined && whyNotOffered(account, charge) !== undefined)
    return true;
  return checkPlacementRules(context, draft, { tenant, revision, node, account }) !== undefined;
}

interface FreedHold {
  readonly tenant: string;
  readonly name: string;
  readonly state: 'Released' | 'Expired';
  readonly reason: string;
  /** The replica it is for is not wanted any more: then it goes, even if its gang is committed. */
  readonly isOwnerEnding: boolean;
}

function freeHold(
  context: Context,
  draft: Draft,
  { tenant, name, state, reason, isOwnerEnding }: FreedHold,
): Rejection | undefined {
  const stored = storedReservation(draft, tenant, name);
  const status = statusOf<Reservation>(draft, 'Reservation', tenant, name) as ReservationStatus | undefined;
  if (stored === undefined || status?.charge === undefined)
    return reject('HoldGone', `hold ${tenant}/${name} is gone`);
  if (status.state !== 'Held' && context.checks.has('hold.once'))
    return reject('HoldGone', `hold ${tenant}/${name} is ${status.state}`);
  if (stored.spec.intent === 'Gang') {
    const gang = storedReplica(draft, tenant, stored.spec.owner.name)?.spec.gang;
    const members = gang === undefined ? undefined : gangStatus(draft, tenant, gang);
    if (gang !== undefined && members !== undefined) {
      if (
        members.state === 'Committed' &&
        !isOwnerEnding &&
        context.checks.has('gang.committed') &&
        !(state === 'Expired' && isAwaiting(status)) &&
        !isStranded(context, draft, tenant, stored, status)
      )
        return reject('GangCommitted', `gang ${gang} is committed: its members go forward`);
      if (context.checks.has('gang.count') && (state !== 'Expired' || context.checks.has('gang.expired')))
        putStatus(draft, 'Gang', tenant, gang, {
          ...members,
          // A gang of that name may have been made anew since.
          holds: Math.max(0, (members.holds ?? 0) - 1),
        });
    }
  }
  unpostCharge(context, draft, stored.metadata.uid, status.charge, carriedByNode(status));
  putStatus(draft, 'Reservation', tenant, name, { ...status, state, reason } satisfies ReservationStatus);
  return undefined;
}
