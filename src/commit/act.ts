import type { Actor } from '../model/ports.js';
import { isOlderEpoch, sameEpoch, shownEpoch, type Epoch } from '../model/records.js';
import { isEdge, ownsEdge, type Stage, type StageActor } from '../model/stages.js';
import type { Context } from './context.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import { leaseRecord, nodeEpoch } from './stored.js';

/** The leases under which each actor acts. A person acts under none; an agent under its node's epoch. */
const leaseOf: Readonly<Record<Actor['kind'], RegExp | undefined>> = {
  scheduler: /^scheduler(-[a-z0-9.-]+)?$/,
  preemption: /^scheduler(-[a-z0-9.-]+)?$/,
  'workload-controller': /^workload-controller$/,
  'endpoints-controller': /^endpoints-controller$/,
  'repair-controller': /^repair-controller$/,
  'grant-controller': /^grant-controller$/,
  detector: /^detector$/,
  collector: /^collector$/,
  rollout: /^rollout$/,
  drain: /^drain$/,
  user: undefined,
  operator: undefined,
  agent: undefined,
};

/** [S8] The actor's lease stands at the epoch it names; undefined if so. */
export function checkActor(context: Context, draft: Draft, actor: Actor): Rejection | undefined {
  const expected = leaseOf[actor.kind];
  if (expected === undefined) return undefined;
  const { lease } = actor;
  if (lease === undefined || !expected.test(lease.name)) {
    if (!context.checks.has('owner.lease')) return undefined;
    return reject(
      'NotOwner',
      `${actor.kind} acts under a lease of its own, not ${lease?.name ?? 'without one'}`,
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

/** [S8] The node's epoch is the one named, and open. */
export function checkNodeEpoch(
  context: Context,
  draft: Draft,
  node: string,
  epoch: Epoch,
): Rejection | undefined {
  const current = nodeEpoch(draft, node);
  if (current === undefined) return reject('StaleEpoch', `node ${node} has never registered`);
  if (context.checks.has('epoch.node') && !sameEpoch(current.epoch, epoch)) {
    const how = isOlderEpoch(epoch, current.epoch) ? 'is over' : 'does not exist';
    return reject(
      'StaleEpoch',
      `epoch ${shownEpoch(epoch)} of node ${node} ${how}; it is at ${shownEpoch(current.epoch)}`,
    );
  }
  if (context.checks.has('epoch.nodeState') && current.state === 'Closed')
    return reject(
      'StaleEpoch',
      `epoch ${shownEpoch(epoch)} of node ${node} was closed: its fence had expired`,
    );
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
