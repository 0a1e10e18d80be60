import type { Actor } from '../model/ports.js';
import { isOlderEpoch, sameEpoch, shownEpoch, type Epoch } from '../model/records.js';
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

/** [S8] The actor's lease stands at the epoch it names; undefined if so. */
export function checkActor(context: Context, draft: Draft, actor: Actor): Rejection | undefined {
  // Its node's epoch and the fence are what an agent acts under, and only report checks them.
  if (actor.kind === 'agent') {
    if (!context.checks.has('owner.agent')) return undefined;
    return reject('NotOwner', `agent ${actor.name} acts by its reports, under the epoch of its node`);
  }
  const expected = leaseOf[actor.kind];
  if (expected === undefined) return undefined;
  const { lease } = actor;
  if (
    lease === undefined ||
    (lease.name !== expected.name &&
      !(expected.isOneOfMany === true && lease.name.startsWith(`${expected.name}-`)))
  ) {
    if (!context.checks.has('owner.lease')) return undefined;
    return reject(
      'NotOwner',
      `${actor.kind} acts under the lease ${expected.name}, not ${lease === undefined ? 'without one' : `under ${lease.name}`}`,
    );
  }
  if (!context.checks.has('epoch.lease')) return undefined;
  const current = leaseRecord(draft, lease.name);
  if (current !== undefined && sameEpoch(current.epoch, lease.epoch)) return undefined;
  return reject(
    'StaleEpoch',
    `${actor.name} acts under epoch ${shownEpoch(lease.epoch)} of lease ${lease.name}, which is at ${current === undefined ? 'none' : shownEpoch(current.epoch)}`,
  );
}

/**
 * [S8] The node's epoch is the one named, and open if it must be. StaleEpoch is for the node itself, whose own epoch is over;
 * to others it says that they looked at the node as it was.
 */
export function checkNodeEpoch(
  context: Context,
  draft: Draft,
  node: string,
  epoch: Epoch,
  { reason, mustBeOpen = true }: { reason: 'StaleEpoch' | 'NodeChanged'; mustBeOpen?: boolean },
): Rejection | undefined {
  const current = nodeEpoch(draft, node);
  if (current === undefined) return reject(reason, `node ${node} has never registered`);
  if (context.checks.has('epoch.node') && !sameEpoch(current.epoch, epoch)) {
    const how = isOlderEpoch(epoch, current.epoch) ? 'is over' : 'does not exist';
    return reject(
      reason,
      `epoch ${shownEpoch(epoch)} of node ${node} ${how}; it is at ${shownEpoch(current.epoch)}`,
    );
  }
  if (mustBeOpen && current.state === 'Closed' && context.checks.has('epoch.nodeState'))
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
