import { whyNotOffered } from '../../model/held-offer.js';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Reservation, ReservationStatus } from '../../model/kinds/reservation.js';
import type { Charge } from '../../model/parts/charge.js';
import type { Proposal } from '../../model/ports.js';
import { plus } from '../../model/plus.js';
import { objectKey } from '../../model/records.js';
import { moveClaims, postCharge } from '../accounts.js';
import { checkEdge } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject, type Rejection } from '../decision.js';
import type { Draft } from '../draft.js';
import { newCharge } from '../new-charge.js';
import { type Candidate, checkNeighbours, reliesOnFence } from '../placement-rules.js';
import { type LiveReplica, replicaGone, stepBy, withTransition } from '../replica-moves.js';
import { gangStatus, putStatus, statusOf, storedReservation } from '../stored.js';
import { checkProposal, checkUid, type Placing, proposedReplica } from './place.js';

/** Makes one placement official: everything it relies on is checked again here, inside the transaction. */
export const bind =
  (context: Context, proposal: Proposal): Decide<{ readonly fence: string }> =>
  (draft) => {
    const replica = proposedReplica(draft, proposal);
    if (replica === undefined) return replicaGone(proposal.replica);
    const other = checkUid(context, proposal, replica);
    if (other !== undefined) return other;
    const { binding } = replica.status;
    if (binding?.receipt.operation === proposal.operation && context.checks.has('operation.repeated'))
      return already({ fence: binding.fence });
    if (binding !== undefined && context.checks.has('bind.alreadyBound'))
      return reject('AlreadyBound', `replica ${replica.tenant}/${replica.name} was bound to ${binding.node}`);
    const placing = checkProposal(context, draft, 'bind', proposal, replica, ['Queued', 'Scheduled']);
    if ('kind' in placing) return placing;
    const edge = checkEdge(context, 'scheduler', replica.status.stage, 'Bound');
    if (edge !== undefined) return edge;
    const charge =
      replica.status.stage === 'Scheduled'
        ? chargeOfHold(context, draft, proposal, placing)
        : chargeNow(context, draft, proposal, placing);
    if ('kind' in charge) return charge;

    const key = objectKey('Replica', replica.tenant, replica.name);
    const fence = String(draft.createdVersionOf(key));
    const { operation, snapshotRevision, policyRevision, decision } = proposal;
    const by = stepBy(proposal.actor);
    const { evidence, conditions } = said(placing.candidate.node, snapshotRevision, by.evidence, context.at);
    const { tenant, name, status } = isPlain(replica.status) ? replica : withoutWaiting(replica);
    const step = { to: 'Bound', ...by, reason: 'Placed', operation, evidence } as const;
    putStatus(
      draft,
      'Replica',
      tenant,
      name,
      boundStatus(status, {
        stage: 'Bound',
        transitions: withTransition(context, draft, status.stage, status.transitions ?? [], step),
        charge,
        binding: bindingOf(
          proposal,
          fence,
          reliesOnFence(draft, placing.candidate),
          decision === undefined
            ? { snapshotRevision, policyRevision, operation }
            : { snapshotRevision, policyRevision, operation, decision },
        ),
        conditions: withBound(status.conditions, conditions),
      }),
    );
    return commit({ fence });
  };

type Conditions = NonNullable<ReplicaStatus['conditions']>;
type Evidence = Readonly<Record<string, string>>;

/** What is said of all that are bound to a node in one second, on one snapshot, by one scheduler. */
interface Said {
  readonly evidence: Evidence;
  readonly ofLease: Evidence | undefined;
  readonly conditions: Conditions;
}

// By the node as it is stored: those bound one after the other share what is said of them. Records are never changed,
// and a hundred thousand replicas keep theirs.
const saidOf = new WeakMap<object, Said>();

function said(node: Candidate['node'], snapshot: string, ofLease: Evidence | undefined, at: string): Said {
  const last = saidOf.get(node);
  if (
    last !== undefined &&
    last.evidence['snapshot'] === snapshot &&
    last.ofLease === ofLease &&
    last.conditions[0]?.lastTransitionTime === at
  )
    return last;
  const { name } = node.metadata;
  const bound = {
    type: 'Bound',
    status: 'True' as const,
    reason: 'Placed',
    message: `on ${name}`,
    lastTransitionTime: at,
  };
  const next = { evidence: { node: name, snapshot, ...ofLease }, ofLease, conditions: [bound] };
  saidOf.set(node, next);
  return next;
}

const withBound = (before: Conditions | undefined, bound: Conditions): Conditions =>
  before === undefined || before.length === 0
    ? bound
    : before.filter(({ type }) => type !== 'Bound' && type !== 'SchedulingRetrying').concat(bound);

type Binding = NonNullable<ReplicaStatus['binding']>;
type BoundStatus = Pick<ReplicaStatus, 'stage' | 'transitions' | 'charge' | 'binding' | 'conditions'>;

// Written out, and not spread: what is spread in has its fields in a list of its own, and every replica keeps one.
const bindingOf = (
  { node, nodeEpoch }: Proposal,
  fence: string,
  isFenced: boolean,
  receipt: Binding['receipt'],
): Binding =>
  isFenced ? { node, nodeEpoch, fence, isFenced, receipt } : { node, nodeEpoch, fence, receipt };

/** `bound` is all there is to say of one that has only waited until now. */
function boundStatus(status: ReplicaStatus, bound: BoundStatus): ReplicaStatus {
  const ports = bound.charge?.ports;
  if (ports === undefined && hasOnlyWaited(status)) return bound;
  return plus(status, ports === undefined ? bound : { ...bound, ports });
}

function hasOnlyWaited(status: ReplicaStatus): boolean {
  for (const field in status)
    if (field !== 'stage' && field !== 'transitions' && field !== 'conditions') return false;
  return true;
}

const isPlain = ({ hold, decision }: ReplicaStatus): boolean => hold === undefined && decision === undefined;

/** What is said of one that waits is over. */
function withoutWaiting(replica: LiveReplica): LiveReplica {
  const { hold: _hold, decision: _decision, ...status } = replica.status;
  return { ...replica, status };
}

function chargeNow(
  context: Context,
  draft: Draft,
  proposal: Proposal,
  { replica, candidate }: Placing,
): Charge | Rejection {
  // Members above the least that must start together, and later incarnations, follow a gang that has started.
  const { gang } = replica.stored.spec;
  if (
    gang !== undefined &&
    gangStatus(draft, replica.tenant, gang)?.state !== 'Committed' &&
    context.checks.has('bind.gang')
  )
    return reject(
      'GangIncomplete',
      `${replica.name} is a member of gang ${gang}, which has not started: it is bound through a hold`,
    );
  const apart = checkNeighbours(context, draft, candidate);
  if (apart !== undefined) return apart;
  const charge = newCharge(context, draft, plus(candidate, { devices: proposal.devices }));
  if ('kind' in charge) return charge;
  postCharge(context, draft, replica.stored.metadata.uid, charge);
  return charge;
}

/** What its hold was charged with becomes the replica's own. */
function chargeOfHold(
  context: Context,
  draft: Draft,
  proposal: Proposal,
  { replica, candidate }: Placing,
): Charge | Rejection {
  const { tenant, stored, status } = replica;
  const name = status.hold ?? '';
  const held = statusOf<Reservation>(draft, 'Reservation', tenant, name) as ReservationStatus | undefined;
  const reservation = storedReservation(draft, tenant, name);
  if (
    reservation === undefined ||
    held?.charge === undefined ||
    (held.state !== 'Held' && context.checks.has('bind.hold'))
  )
    return reject('HoldGone', `hold ${name} is ${held?.state ?? 'gone'}`);
  if (
    (reservation.spec.owner.uid !== stored.metadata.uid || reservation.spec.node !== proposal.node) &&
    context.checks.has('bind.hold.owner')
  )
    return reject(
      'HoldGone',
      `hold ${name} is for ${reservation.spec.owner.name} on ${reservation.spec.node}`,
    );
  if ((held.awaits ?? []).length > 0 && context.checks.has('bind.hold.awaits'))
    return reject(
      'NodeFull',
      `hold ${name} still waits for ${held.awaits?.map(({ replica: victim }) => victim).join(', ')}`,
    );
  const missing = whyNotOffered(candidate.account, held.charge);
  if (missing !== undefined && context.checks.has('bind.hold.offer'))
    return reject('HoldGone', `hold ${name} is on ${proposal.node}, where ${missing}`);
  const { gang } = stored.spec;
  if (gang !== undefined && context.checks.has('bind.gang')) {
    const state = gangStatus(draft, tenant, gang)?.state;
    if (state !== 'Committed')
      return reject('GangIncomplete', `gang ${gang} is ${state ?? 'gone'}, not yet Committed`);
  }
  moveClaims(context, draft, held.charge, reservation.metadata.uid, stored.metadata.uid);
  putStatus(draft, 'Reservation', tenant, name, { ...held, state: 'Bound' } satisfies ReservationStatus);
  return held.charge;
}
