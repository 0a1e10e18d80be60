import { createHash } from 'node:crypto';
import { addAmounts, type Amount, amountOf, amountsOf, subtractAmounts } from '../../model/amount.js';
import { amountsAsked } from '../../model/asked.js';
import { freeOn } from '../../model/free-on.js';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Reservation, ReservationStatus } from '../../model/kinds/reservation.js';
import type { Charge } from '../../model/parts/charge.js';
import type { Reserve } from '../../model/ports.js';
import { rankWeight } from '../../model/rank.js';
import { type NodeAccount, objectKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { victimsWeightMax, victimWeight } from '../../model/victims-bound.js';
import { chargedAmount, postCharge } from '../accounts.js';
import { checkEdge } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject, type Rejection } from '../decision.js';
import type { Draft } from '../draft.js';
import { newCharge } from '../new-charge.js';
import { checkNeighbours } from '../placement-rules.js';
import { beyond, isNothing, least } from '../../model/amount-parts.js';
import { findVictim, type LiveReplica, moveReplica, stepBy, replicaGone } from '../replica-moves.js';
import {
  gangStatus,
  putStatus,
  statusOf,
  storedPriorityClass,
  storedReservation,
  storedRevision,
  type Stored,
} from '../stored.js';
import { disrupt } from './disrupt.js';
import { endedFinalizer } from './incarnate.js';
import { checkProposal, proposedReplica } from './place.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';

/** A hold is found again by whom it is for and why: a second try makes no second hold. */
export const reservationName = (ownerUid: string, intent: string): string =>
  `hold-${createHash('sha256').update(`${ownerUid}/${intent}`).digest('hex').slice(0, 20)}`;

/** Holds capacity for a replica before it is bound; with victims, what they will free as well. */
export const reserve =
  (context: Context, input: Reserve): Decide<{ readonly reservation: string; readonly uid: string }> =>
  (draft) => {
    const { tenant } = input.replica;
    const name = reservationName(input.replica.uid, input.intent);
    const before = storedReservation(draft, tenant, name);
    const state = (statusOf<Reservation>(draft, 'Reservation', tenant, name) as ReservationStatus | undefined)
      ?.state;
    if (before !== undefined && (state === 'Held' || before.spec.operation === input.operation))
      return already({ reservation: name, uid: before.metadata.uid });
    const replica = proposedReplica(draft, input);
    if (replica === undefined) return replicaGone(input.replica);
    const placing = checkProposal(context, draft, 'reserve', input, replica, ['Queued']);
    if ('kind' in placing) return placing;
    const { candidate } = placing;
    const refused =
      checkEdge(context, 'scheduler', replica.status.stage, 'Scheduled') ??
      checkNeighbours(context, draft, candidate) ??
      checkGang(context, draft, input, replica);
    if (refused !== undefined) return refused;
    // Before they are looked at: a rejection relies on what it read, too.
    const named = input.victims?.length ?? 0;
    if (named > victimsWeightMax) return tooMany(input, named);
    const { resources } = candidate.revision.spec.template;
    const wanted = amountOf(amountsAsked(resources));
    const awaits = awaitsOf(context, draft, input, wanted, resources?.ports ?? [], candidate.account);
    if ('kind' in awaits) return awaits;
    const awaited = awaits.reduce((sum: Amount, { amount }) => addAmounts(sum, amount), {});
    const charge = newCharge(context, draft, {
      ...candidate,
      devices: input.devices,
      ...(awaits.length > 0 && {
        awaited,
        awaitedPorts: Object.assign({}, ...awaits.map(({ ports }) => ports)) as Record<string, number>,
      }),
    });
    if ('kind' in charge) return charge;
    const outranked = checkRanks(context, draft, candidate.revision, charge, awaits);
    if (outranked !== undefined) return outranked;
    // A guarantee is reclaimed whatever limit the borrower has; one that goes already is not disrupted again.
    const isLimited = ({ status }: LiveReplica): boolean =>
      status.stage !== 'Releasing' && !(charge.rank === 'Guaranteed' && status.charge?.rank === 'Borrowed');
    const weight = awaits.reduce((sum, { victim }) => sum + victimWeight(isLimited(victim)), 0);
    if (weight > victimsWeightMax) return tooMany(input, awaits.length);
    for (const { victim } of awaits) {
      // One that goes already is not moved again; from now on what it frees is spoken for.
      if (victim.status.stage === 'Releasing') {
        putStatus(draft, 'Replica', victim.tenant, victim.name, {
          ...victim.status,
          awaitedBy: `${tenant}/${name}`,
        } satisfies ReplicaStatus);
        continue;
      }
      const limited = disrupt(context, draft, victim, {
        ...stepBy({ ...input.actor, kind: 'preemption' }),
        reason: 'Preempted',
        operation: `${input.operation}/evict`,
        message: `for ${input.replica.name}`,
        awaitedBy: `${tenant}/${name}`,
        isLimited: isLimited(victim),
      });
      if (limited !== undefined) return limited;
    }
    const onNode = subtractAmounts(chargedAmount(charge), awaited);
    postCharge(context, draft, context.uid, charge, onNode);
    draft.put(objectKey('Reservation', tenant, name), {
      apiVersion: 'berth.dev/v1',
      kind: 'Reservation',
      metadata: {
        name,
        namespace: tenant,
        uid: context.uid,
        generation: 1,
        creationTimestamp: context.at,
        finalizers: [endedFinalizer],
        ownerReferences: [
          { apiVersion: 'berth.dev/v1', kind: 'Replica', name: replica.name, uid: input.replica.uid },
        ],
      },
      spec: {
        owner: { kind: 'Replica', name: replica.name, uid: input.replica.uid },
        intent: input.intent,
        node: input.node,
        amounts: charge.amounts,
        deadlineSeconds: input.deadlineSeconds,
        operation: input.operation,
        ...(input.decision !== undefined && { decision: input.decision }),
        ...(awaits.length > 0 && { victims: awaits.map(({ victim }) => victim.name) }),
      },
    });
    putStatus(draft, 'Reservation', tenant, name, {
      state: 'Held',
      nodeEpoch: input.nodeEpoch,
      charge,
      ...(awaits.length > 0 && {
        now: amountsOf(subtractAmounts(amountOf(charge.amounts), awaited)),
        awaits: awaits.map(({ victim, amount, ports }) => ({
          replica: victim.name,
          uid: victim.stored.metadata.uid,
          amounts: amountsOf(amount),
          ...(Object.keys(ports).length > 0 && { ports }),
        })),
      }),
    } satisfies ReservationStatus);
    const by = stepBy(input.actor);
    const evidence = { ...by.evidence, snapshot: input.snapshotRevision, node: input.node, hold: name };
    moveReplica(
      context,
      draft,
      replica,
      { ...by, to: 'Scheduled', reason: 'Held', operation: input.operation, evidence },
      { hold: name },
    );
    countGangHold(context, draft, input, replica);
    return commit({ reservation: name, uid: context.uid });
  };

const tooMany = ({ replica, node }: Reserve, victims: number): Rejection =>
  reject(
    'TooManyVictims',
    `${victims} would have to leave ${node} for ${replica.name}, more than one transaction carries`,
  );

function checkGang(
  context: Context,
  draft: Draft,
  input: Reserve,
  { stored, tenant }: LiveReplica,
): Rejection | undefined {
  const { gang } = stored.spec;
  const state = gang === undefined ? undefined : gangStatus(draft, tenant, gang)?.state;
  if (input.intent !== 'Gang') {
    // A member of a gang that has started is a replica like others, and such a hold is none of its gang's.
    if (gang === undefined || state === 'Committed') return undefined;
    return reject('GangIncomplete', `a member of gang ${gang} holds for it, with intent Gang`);
  }
  if (gang === undefined) return reject('GangIncomplete', `${stored.metadata.name} is in no gang`);
  if (state === 'Reserving' || !context.checks.has('bind.gang')) return undefined;
  return reject('GangIncomplete', `gang ${gang} is ${state ?? 'not begun'}, not Reserving`);
}

function countGangHold(
  context: Context,
  draft: Draft,
  input: Reserve,
  { stored, tenant }: LiveReplica,
): void {
  if (input.intent !== 'Gang' || stored.spec.gang === undefined) return;
  const status = gangStatus(draft, tenant, stored.spec.gang);
  if (status === undefined || !context.checks.has('gang.count')) return;
  putStatus(draft, 'Gang', tenant, stored.spec.gang, { ...status, holds: (status.holds ?? 0) + 1 });
}

interface Awaited {
  readonly victim: LiveReplica;
  readonly amount: Amount;
  /** Ports that are asked for by number and that it has, by the name they are asked for under. */
  readonly ports: Readonly<Record<string, number>>;
}

/**
 * What each victim will free for the hold: as much as is missing now, and no more than it has, and the ports it has
 * that are asked for. A victim that would free nothing of it is left alone. On a node that offers less than is used already, victims make up for that too,
 * but the hold never awaits more than it asks for: what it posts now is not below zero, so use never falls before
 * somebody is released (S2).
 */
function awaitsOf(
  context: Context,
  draft: Draft,
  { victims = [], node, replica }: Reserve,
  wanted: Amount,
  askedPorts: readonly string[],
  account: NodeAccount,
): readonly Awaited[] | Rejection {
  const awaits: Awaited[] = [];
  const seen = new Set<string>();
  let missing = beyond(wanted, freeOn(account));
  let open = least(missing, wanted);
  for (const ref of victims) {
    const victim = findVictim(draft, ref);
    const charge = victim?.status.charge;
    if (
      victim === undefined ||
      charge === undefined ||
      charge.node !== node ||
      isTerminal(victim.status.stage)
    )
      return reject('ReplicaChanged', `victim ${ref.tenant}/${ref.name} is not on ${node} any more`);
    if (seen.has(ref.uid)) continue;
    seen.add(ref.uid);
    if (isAwaited(draft, victim) && context.checks.has('reserve.victim'))
      return reject(
        'HoldGone',
        `victim ${ref.name} makes room for ${victim.status.awaitedBy} already, not for ${replica.name}`,
      );
    const has = amountOf(charge.amounts);
    const freed = least(missing, has);
    const ports = portsFreed(charge, askedPorts);
    if (isNothing(freed) && Object.keys(ports).length === 0) continue;
    const amount = least(open, has);
    awaits.push({ victim, amount, ports });
    missing = subtractAmounts(missing, freed);
    open = subtractAmounts(open, amount);
  }
  if (awaits.length > 0 && !isNothing(missing) && context.checks.has('bind.capacity'))
    return reject(
      'NodeFull',
      `node ${node} has not enough left for ${replica.name}, also when ${awaits.map(({ victim }) => victim.name).join(', ')} end`,
    );
  return awaits;
}

function portsFreed({ ports = {} }: Charge, asked: readonly string[]): Readonly<Record<string, number>> {
  const held = new Set(Object.values(ports));
  return Object.fromEntries(
    asked
      .map((port) => port.split(':'))
      .flatMap(([name = '', number]) => (held.has(Number(number)) ? [[name, Number(number)]] : [])),
  );
}

/** Whether a hold that stands gets what this one frees. A hold that was given up meanwhile gets nothing any more. */
function isAwaited(draft: Draft, { status, stored }: LiveReplica): boolean {
  if (status.awaitedBy === undefined) return false;
  const [tenant = '', hold = ''] = status.awaitedBy.split('/');
  const held = statusOf<Reservation>(draft, 'Reservation', tenant, hold) as ReservationStatus | undefined;
  return held?.state === 'Held' && held.awaits?.some(({ uid }) => uid === stored.metadata.uid) === true;
}

/** A preemptor ranks strictly above every victim, so that no circle of preemptions exists. */
function checkRanks(
  context: Context,
  draft: Draft,
  revision: Stored<WorkloadRevision>,
  charge: Charge,
  awaits: readonly Awaited[],
): Rejection | undefined {
  if (awaits.length === 0 || !context.checks.has('reserve.rank')) return undefined;
  const own = storedPriorityClass(draft, undefined, revision.spec.priorityClassName ?? 'default');
  if (own?.spec.preemption === 'Never')
    return reject('RankTooLow', `class ${own.metadata.name} does not preempt`);
  for (const { victim } of awaits) {
    const theirs = storedRevision(draft, victim.tenant, victim.stored.spec.revision);
    const their = storedPriorityClass(draft, undefined, theirs?.spec.priorityClassName ?? 'default');
    const weight = rankWeight(victim.status.charge?.rank ?? 'Guaranteed', their?.spec.value ?? 0);
    if (rankWeight(charge.rank, own?.spec.value ?? 0) <= weight)
      return reject(
        'RankTooLow',
        `${charge.rank} at ${own?.spec.value ?? 0} does not rank above ${victim.name}: ${victim.status.charge?.rank} at ${their?.spec.value ?? 0}`,
      );
  }
  return undefined;
}
