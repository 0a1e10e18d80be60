import { type OperationName, operationTable, type OperationUnder } from '../model/operations.js';
import type { Actor } from '../model/ports.js';
import { isOlderEpoch, nobody, sameEpoch, shownEpoch, type Epoch } from '../model/records.js';
import { isEdge, ownsEdge, type Stage, type StageActor } from '../model/stages.js';
import type { Context } from './context.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import { leaseRecord, nodeEpoch } from './stored.js';

/** The lease under which each actor acts, alone or as one of several. A person acts under none. */
const leaseOf: Readonly<
  Record<Exclude<Actor['kind'], 'agent'>, { readonly name: string; readonly isOneOfMany?: true } | undefined>
> = {
  scheduler: { name: 'scheduler', isOneOfMany: true },
  preemption: { name: 'scheduler', isOneOfMany: true },
  'workload-controller': { name: 'workload-controller' },
  'endpoints-controller': { name: 'endpoints-controller' },
  'repair-controller': { name: 'repair-controller' },
  'grant-controller': { name: 'grant-controller' },
  detector: { name: 'detector' },
  collector: { name: 'collector' },
  rollout: { name: 'rollout' },
  drain: { name: 'drain' },
  user: undefined,
  operator: undefined,
};

/** [S6] The operation is the actor's to send; a person names no lease, and any other actor its own. */
export function checkSender(
  { checks }: Context,
  operation: OperationName,
  { kind, lease }: Actor,
): Rejection | undefined {
  const senders: readonly string[] = operationTable[operation].senders;
  if (!senders.includes(kind) && checks.has('owner.operation'))
    return reject('NotOwner', `${operation} is for ${senders.join(' or ')}, not for ${kind}`);
  if (kind === 'agent' || !checks.has('owner.lease')) return undefined;
  const expected = leaseOf[kind];
  if (expected === undefined)
    return lease === undefined
      ? undefined
      : reject('NotOwner', `${kind} acts under no lease, not under ${lease.name}`);
  const isOwn =
    lease !== undefined &&
    (lease.name === expected.name ||
      (expected.isOneOfMany === true && lease.name.startsWith(`${expected.name}-`)));
  return isOwn
    ? undefined
    : reject(
        'NotOwner',
        `${kind} acts under the lease ${expected.name}, not ${lease === undefined ? 'without one' : `under ${lease.name}`}`,
      );
}

/** [S6, S8] The operation is the actor's to send, and the actor's lease is held under the epoch that the actor names. */
export function checkActor(
  context: Context,
  draft: Draft,
  operation: OperationUnder<'actor'>,
  actor: Actor,
): Rejection | undefined {
  const foreign = checkSender(context, operation, actor);
  const { lease } = actor;
  if (foreign !== undefined || lease === undefined) return foreign;
  const { checks } = context;
  const current = leaseRecord(draft, lease.name);
  const isCurrent = current !== undefined && sameEpoch(current.epoch, lease.epoch);
  if (!isCurrent && checks.has(`epoch.${operation}.actor`))
    return reject(
      'StaleEpoch',
      `${actor.name} acts under epoch ${shownEpoch(lease.epoch)} of lease ${lease.name}, which is at ${current === undefined ? 'none' : shownEpoch(current.epoch)}`,
    );
  if (current?.holder === nobody && checks.has('lease.released'))
    return reject(
      'StaleEpoch',
      `${actor.name} acts under epoch ${shownEpoch(lease.epoch)} of lease ${lease.name}, which its holder has released`,
    );
  return undefined;
}

/**
 * [S8] The node's epoch is the one named, and open if it must be. StaleEpoch is for the node itself, whose own epoch is over;
 * to others it says that they looked at the node as it was.
 */
export function checkNodeEpoch(
  { checks }: Context,
  draft: Draft,
  operation: OperationUnder<'node'> & OperationUnder<'open'>,
  { node, nodeEpoch: epoch }: { readonly node: string; readonly nodeEpoch: Epoch },
  { mustBeOpen = true } = {},
): Rejection | undefined {
  const reason = operationTable[operation].epochs.node;
  const current = nodeEpoch(draft, node);
  if (current === undefined) return reject(reason, `node ${node} has never registered`);
  if (!sameEpoch(current.epoch, epoch) && checks.has(`epoch.${operation}.node`)) {
    const how = isOlderEpoch(epoch, current.epoch) ? 'is over' : 'does not exist';
    return reject(
      reason,
      `epoch ${shownEpoch(epoch)} of node ${node} ${how}; it is at ${shownEpoch(current.epoch)}`,
    );
  }
  if (mustBeOpen && current.state === 'Closed' && checks.has(`epoch.${operation}.open`))
    return reject(reason, `epoch ${shownEpoch(epoch)} of node ${node} was closed: it has to register again`);
  return undefined;
}

/** [S6] The graph has the edge, and it is the actor's to take. */
export function checkEdge(
  context: Context,
  actor: StageActor,
  from: Stage | 'none',
  to: Stage,
): Rejection | undefined {
  if (!isEdge(from, to) && context.checks.has('stage.edge'))
    return reject('NoSuchEdge', `there is no way from ${from} to ${to}`);
  if (!ownsEdge(actor, from, to) && context.checks.has('owner.edge'))
    return reject('NotOwner', `the move from ${from} to ${to} is not for ${actor} to make`);
  return undefined;
}
