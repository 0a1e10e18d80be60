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
import { checkNeighbours, reliesOnFence } from '../placement-rules.js';
import { type LiveReplica, moveReplica, stepBy, replicaGone } from '../replica-moves.js';
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
    const placing = checkProposal(context, draft, proposal, replica, ['Queued', 'Scheduled']);
    if ('kind' in placing) return placing;
    const edge = checkEdge(context, 'scheduler', replica.status.stage, 'Bound');
    if (edge !== undefined) return edge;
    const charge =
      replica.status.stage === 'Scheduled'
        ? chargeOfHold(context, draft, proposal, replica)
        : chargeNow(context, draft, proposal, placing);
    if ('kind' in charge) return charge;

    const key = objectKey('Replica', replica.tenant, replica.name);
    const fence = String(draft.createdVersionOf(key));
    const { operation, node, snapshotRevision, policyRevision, decision } = proposal;
    const by = stepBy(proposal.actor);
    moveReplica(
      context,
      draft,
      isPlain(replica.status) ? replica : withoutWaiting(replica),
      {
        to: 'Bound',
        ...by,
        reason: 'Placed',
        operation,
        evidence: { node, snapshot: snapshotRevision, ...by.evidence },
      },
      {
        charge,
        ...(charge.ports !== undefined && { ports: charge.ports }),
        binding: {
          node,
          nodeEpoch: proposal.nodeEpoch,
          fence,
          ...(reliesOnFence(draft, placing.candidate) && { isFenced: true }),
          receipt: {
            snapshotRevision,
            policyRevision,
            operation,
            ...(decision !== undefined && { decision }),
          },
        },
        conditions: withBound(replica.status.conditions, node, context.at),
      },
    );
    return commit({ fence });
  };

type Conditions = NonNullable<ReplicaStatus['conditions']>;

function withBound(before: Conditions | undefined, node: string, at: string): Conditions {
  const bound = {
    type: 'Bound',
    status: 'True',
    reason: 'Placed',
    message: `on ${node}`,
    lastTransitionTime: at,
  } as const;
  if (before === undefined || before.length === 0) return [bound];
  return [...before.filter(({ type }) => type !== 'Bound' && type !== 'SchedulingRetrying'), bound];
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
  replica: LiveReplica,
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
  if (reservation.spec.intent === 'Gang' && context.checks.has('bind.gang')) {
    const gang = stored.spec.gang ?? '';
    const state = gangStatus(draft, tenant, gang)?.state;
    if (state !== 'Committed')
      return reject('GangIncomplete', `gang ${gang} is ${state ?? 'gone'}, not yet Committed`);
  }
  moveClaims(context, draft, held.charge, reservation.metadata.uid, stored.metadata.uid);
  putStatus(draft, 'Reservation', tenant, name, { ...held, state: 'Bound' } satisfies ReservationStatus);
  return held.charge;
}
