import { addAmounts, type Amount, amountOf, amountsOf, ownValue } from '../model/amount.js';
import type { Replica, ReplicaStatus, ReplicaTransition } from '../model/kinds/replica.js';
import { transitionsMax } from '../model/kinds/replica.js';
import type { Reservation, ReservationStatus } from '../model/kinds/reservation.js';
import type { Charge } from '../model/parts/charge.js';
import type { Actor, ReplicaRef } from '../model/ports.js';
import { plus } from '../model/plus.js';
import { remarksOnUnknown } from '../model/remarks.js';
import {
  type Epoch,
  type NodeAccount,
  nodeAccountKey,
  objectKey,
  slotKey,
  type SlotRecord,
  statusKey,
} from '../model/records.js';
import { isTerminal, type Stage } from '../model/stages.js';
import { chargedAmount, unpostCharge } from './accounts.js';
import type { Context } from './context.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import {
  nodeAccount,
  putStatus,
  replicaStatus,
  slotRecord,
  statusOf,
  type Stored,
  storedReplica,
  storedReservation,
} from './stored.js';

/** A replica as a draft shows it. */
export interface LiveReplica {
  readonly tenant: string;
  readonly name: string;
  readonly stored: Stored<Replica>;
  readonly status: ReplicaStatus;
}

/** The replica that is meant, and no later one of the same name; undefined if it is gone. */
export function findReplica(draft: Draft, { tenant, name, uid }: ReplicaRef): LiveReplica | undefined {
  const stored = storedReplica(draft, tenant, name);
  const status = replicaStatus(draft, tenant, name);
  if (stored === undefined || status === undefined || stored.metadata.uid !== uid) return undefined;
  return { tenant, name, stored, status };
}

/**
 * The same for one of many: no guard of its own for what never changes, its uid and spec, since the status comes and goes
 * with it.
 */
export function findVictim(draft: Draft, { tenant, name, uid }: ReplicaRef): LiveReplica | undefined {
  const status = replicaStatus(draft, tenant, name);
  const key = objectKey('Replica', tenant, name);
  // A parsed boundary, as in stored.ts.
  const stored = draft.readCovered(key, statusKey('Replica', tenant, name)) as Stored<Replica> | undefined;
  if (stored === undefined || status === undefined || stored.metadata.uid !== uid) return undefined;
  return { tenant, name, stored, status };
}

/** The answer where it is gone. */
export const replicaGone = ({ tenant, name }: ReplicaRef): Rejection =>
  reject('ReplicaChanged', `replica ${tenant}/${name} is gone`);

export interface Step {
  readonly to: Stage;
  readonly actor: string;
  readonly reason: string;
  readonly operation: string;
  readonly epoch?: Epoch;
  readonly evidence?: Readonly<Record<string, string>>;
}

type StepBy = Pick<Step, 'actor' | 'epoch' | 'evidence'>;

// By the actor of a term, who takes many steps: all of them then share what is said of it.
const stepsBy = new WeakMap<Actor, StepBy>();

/** What an actor's lease adds to a step: its epoch, and which lease it is of. */
export function stepBy(actor: Actor): StepBy {
  let step = stepsBy.get(actor);
  if (step === undefined) {
    const who = `${actor.kind}:${actor.name}`;
    step =
      actor.lease === undefined
        ? { actor: who }
        : { actor: who, epoch: actor.lease.epoch, evidence: { lease: actor.lease.name } };
    stepsBy.set(actor, step);
  }
  return step;
}

/** Where this operation moved it, if it is among the last moves: then it was committed before. */
export const movedBefore = (context: Context, status: ReplicaStatus, operation: string): Stage | undefined =>
  context.checks.has('operation.repeated')
    ? status.transitions?.findLast((transition) => transition.operation === operation)?.to
    : undefined;

export const withTransition = (
  context: Context,
  draft: Draft,
  from: Stage | undefined,
  before: readonly ReplicaTransition[],
  step: Step,
): ReplicaTransition[] => {
  const transition = transitionOf(from, step, draft.version, context.at);
  // Not spread: a list that was gets room for sixteen more, and every replica keeps its own.
  return before.length === 0 ? [transition] : before.slice(1 - transitionsMax).concat(transition);
};

/** Most are of two shapes, which are written out: what is spread in has its fields elsewhere, and a replica keeps many. */
function transitionOf(
  from: Stage | undefined,
  { to, actor, reason, operation, epoch, evidence }: Step,
  revision: string,
  at: string,
): ReplicaTransition {
  if (epoch !== undefined && evidence !== undefined)
    return from === undefined
      ? { to, actor, reason, revision, at, operation, epoch, evidence }
      : { to, from, actor, reason, revision, at, operation, epoch, evidence };
  return {
    // A field before the first spread: see plus().
    to,
    ...(from !== undefined && { from }),
    ...{ actor, reason, revision, at, operation },
    ...(epoch !== undefined && { epoch }),
    ...(evidence !== undefined && { evidence }),
  };
}

/** Writes a move of a replica. One into a terminal stage frees what it is charged with, in the same transaction. */
export function moveReplica(
  context: Context,
  draft: Draft,
  replica: LiveReplica,
  step: Step,
  change: Partial<ReplicaStatus> = {},
): ReplicaStatus {
  const { status } = replica;
  const transitions = withTransition(context, draft, status.stage, status.transitions ?? [], step);
  // A field before the spread: see plus().
  const moves = { stage: step.to, transitions, ...change };
  // From now on it may be listed: only `publish` takes that back.
  const moved = plus(status, step.to === 'Serving' ? { ...moves, isListed: true } : moves);
  const next: ReplicaStatus = status.stage === 'Unknown' ? withoutRemarks(moved) : moved;
  putStatus(draft, 'Replica', replica.tenant, replica.name, next);
  if (isTerminal(step.to)) endReplica(context, draft, { ...replica, status: next });
  return next;
}

/** What was said of it while its fate was not known is over. */
function withoutRemarks(status: ReplicaStatus): ReplicaStatus {
  const conditions = status.conditions ?? [];
  const kept = conditions.filter(({ type }) => !remarksOnUnknown.some((one) => one === type));
  return kept.length === conditions.length ? status : { ...status, conditions: kept };
}

function endReplica(context: Context, draft: Draft, { tenant, stored, status }: LiveReplica): void {
  const { workload, slot } = stored.spec;
  const { uid } = stored.metadata;
  const record = slotRecord(draft, tenant, workload, slot);
  if (record?.lost?.replicaUid === uid) {
    const { lost: _, ...rest } = record;
    draft.put(slotKey(tenant, workload, slot), rest satisfies SlotRecord);
    endDuplicate(draft, tenant, record.replica);
  }
  const { charge } = status;
  if (charge === undefined) return;
  unpostCharge(context, draft, uid, charge);
  if (status.awaitedBy !== undefined && context.checks.has('reserve.awaits'))
    giveToHold(draft, status.awaitedBy, uid, charge);
}

/** [S12] The lost one has ended: its replacement runs alone. */
function endDuplicate(draft: Draft, tenant: string, replacement: string): void {
  const status = replicaStatus(draft, tenant, replacement);
  const conditions = status?.conditions?.filter(({ type }) => type !== 'MayRunTwice');
  if (status !== undefined && conditions?.length !== status.conditions?.length)
    putStatus(draft, 'Replica', tenant, replacement, { ...status, conditions });
}

/**
 * What a victim frees goes to the hold it was preempted for, in the transaction that releases it: use never rises,
 * and nobody else takes it in between.
 */
function giveToHold(draft: Draft, awaitedBy: string, victim: string, freed: Charge): void {
  const [tenant = '', hold = ''] = awaitedBy.split('/');
  const status = statusOf<Reservation>(draft, 'Reservation', tenant, hold) as ReservationStatus | undefined;
  const owner = storedReservation(draft, tenant, hold)?.metadata.uid;
  const awaited = status?.awaits?.find(({ uid }) => uid === victim);
  const node = nodeAccount(draft, freed.node);
  if (status?.state !== 'Held' || status.charge === undefined || owner === undefined) return;
  if (awaited === undefined || node === undefined) return;
  const amount = amountOf(awaited.amounts);
  const devices: Record<string, string[]> = {};
  for (const [name, count] of Object.entries(awaited.amounts.devices ?? {}))
    devices[name] = (ownValue(freed.devices, name) ?? []).slice(0, count);
  const claimed = Object.values(devices).flat();
  const ports = awaited.ports ?? {};
  const ownedBy = (ids: readonly (string | number)[]): Record<string, string> =>
    Object.fromEntries(ids.map((id) => [id, owner]));
  draft.put(nodeAccountKey(freed.node), {
    ...node,
    used: addAmounts(node.used, amount),
    claims: {
      devices: { ...node.claims.devices, ...ownedBy(claimed) },
      ports: { ...node.claims.ports, ...ownedBy(Object.values(ports)) },
    },
  } satisfies NodeAccount);
  const awaits = (status.awaits ?? []).filter(({ uid }) => uid !== victim);
  putStatus(draft, 'Reservation', tenant, hold, {
    ...status,
    awaits,
    now: amountsOf(addAmounts(amountOf(status.now ?? {}), amount)),
    charge: withPorts(claimed.length === 0 ? status.charge : withDevices(status.charge, devices), ports),
  } satisfies ReservationStatus);
}

const withDevices = (charge: Charge, more: Readonly<Record<string, readonly string[]>>): Charge => ({
  ...charge,
  devices: Object.fromEntries(
    [...new Set([...Object.keys(charge.devices ?? {}), ...Object.keys(more)])].map((name) => [
      name,
      [...(ownValue(charge.devices, name) ?? []), ...(ownValue(more, name) ?? [])],
    ]),
  ),
});

const withPorts = (charge: Charge, more: Readonly<Record<string, number>>): Charge =>
  Object.keys(more).length === 0 ? charge : { ...charge, ports: { ...charge.ports, ...more } };

/** What the node carries of a hold: all of it, unless victims still do. */
export function carriedByNode(status: ReservationStatus): Amount {
  if (status.charge === undefined) return {};
  return status.now === undefined
    ? chargedAmount(status.charge)
    : addAmounts(amountOf(status.now), { replicas: 1 });
}
