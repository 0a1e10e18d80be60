import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Proposal } from '../../model/ports.js';
import {
  type NodeAccount,
  objectKey,
  sameEpoch,
  slotKey,
  type SlotRecord,
  statusKey,
} from '../../model/records.js';
import { checkActor, checkNodeEpoch } from '../act.js';
import type { Context } from '../context.js';
import { reject, type Rejection } from '../decision.js';
import type { Draft } from '../draft.js';
import { refusedBeside } from '../lost-copies.js';
import { type Candidate, checkPlacementRules } from '../placement-rules.js';
import type { LiveReplica } from '../replica-moves.js';
import {
  nodeAccount,
  replicaStatus,
  slotRecord,
  type Stored,
  storedNode,
  storedRevision,
} from '../stored.js';

/** What bind and reserve have in common: the replica is the one proposed for, and the node may take it. */
export interface Placing {
  readonly replica: LiveReplica;
  readonly candidate: Candidate;
}

/** The replica that a proposal is for, as it is now. */
export function proposedReplica(
  draft: Draft,
  { replica: { tenant, name } }: Proposal,
): LiveReplica | undefined {
  // Not guarded: what its slot and its status say is about this uid and no other of that name.
  const stored = draft.peek(objectKey('Replica', tenant, name)) as LiveReplica['stored'] | undefined;
  const status = replicaStatus(draft, tenant, name);
  return stored === undefined || status === undefined ? undefined : { tenant, name, stored, status };
}

/** Named again because a replica of the same name may be another one by now. */
export const checkUid = (
  { checks }: Context,
  proposal: Proposal,
  { stored, tenant, name }: LiveReplica,
): Rejection | undefined =>
  stored.metadata.uid !== proposal.replica.uid && checks.has('bind.uid')
    ? reject('ReplicaChanged', `replica ${tenant}/${name} is another now (${stored.metadata.uid})`)
    : undefined;

/**
 * The slot of a replica that waits. While its status is as it was read it has not ended, so no other incarnation can have
 * been made (S12): one guard less for each bind, and there are few in a transaction.
 */
function slotWhileWaiting(draft: Draft, { tenant, name, stored }: LiveReplica): SlotRecord | undefined {
  const key = slotKey(tenant, stored.spec.workload, stored.spec.slot);
  // A parsed boundary, as in stored.ts.
  return draft.readCovered(key, statusKey('Replica', tenant, name)) as SlotRecord | undefined;
}

// By the revision as it is stored: of which type its workload is never changes, and every bind asks for it.
const daemons = new WeakMap<object, boolean>();

function isOfDaemon(draft: Draft, tenant: string, revision: Stored<WorkloadRevision>): boolean {
  const known = daemons.get(revision);
  if (known !== undefined) return known;
  // A parsed boundary, as in stored.ts.
  const workload = draft.readImmutable(objectKey('Workload', tenant, revision.spec.workload)) as
    | Stored<Workload>
    | undefined;
  if (workload === undefined) return false;
  const isDaemon = workload.spec.type === 'Daemon';
  daemons.set(revision, isDaemon);
  return isDaemon;
}

const slotOf = ({ spec: { workload, slot } }: LiveReplica['stored']) => ({ workload, slot });

export function checkProposal(
  context: Context,
  draft: Draft,
  operation: 'bind' | 'reserve',
  proposal: Proposal,
  replica: LiveReplica,
  stages: readonly ReplicaStatus['stage'][],
): Placing | Rejection {
  const { checks } = context;
  const stale = checkActor(context, draft, operation, proposal.actor) ?? checkUid(context, proposal, replica);
  if (stale !== undefined) return stale;
  const { stored, status, tenant, name } = replica;
  if (!stages.includes(status.stage) && checks.has('bind.stage'))
    return reject('ReplicaChanged', `replica ${tenant}/${name} is ${status.stage}`);
  const slot = slotWhileWaiting(draft, replica);
  if (slot?.replicaUid !== stored.metadata.uid && checks.has('bind.slot')) {
    // Guarded, as every reason to refuse is.
    slotRecord(draft, tenant, stored.spec.workload, stored.spec.slot);
    return reject(
      'ReplicaChanged',
      `slot ${stored.spec.slot} of ${stored.spec.workload} belongs to ${slot?.replica ?? 'nobody'} now`,
    );
  }
  const revision = storedRevision(draft, tenant, stored.spec.revision);
  if (revision === undefined) return reject('ReplicaChanged', `the revision ${stored.spec.revision} is gone`);
  // Its workload may have come to say AtMostOne since it was made.
  if (slot?.lost !== undefined && checks.has('bind.lostCopy')) {
    const refused = refusedBeside(draft, { tenant, ...slotOf(stored), revision }, slot.lost);
    if (refused !== undefined) {
      slotRecord(draft, tenant, stored.spec.workload, stored.spec.slot);
      return refused;
    }
  }
  if (stored.spec.slot !== proposal.node && isOfDaemon(draft, tenant, revision) && checks.has('bind.daemon'))
    return reject(
      'SelectorMismatch',
      `slot ${stored.spec.slot} of Daemon ${stored.spec.workload} is for the node of that name, not for ${proposal.node}`,
    );
  const node = storedNode(draft, undefined, proposal.node);
  const account: NodeAccount | undefined = nodeAccount(draft, proposal.node);
  if (node === undefined || account === undefined)
    return reject('NodeChanged', `there is no node ${proposal.node}`);
  // One guard less for each bind: the epoch's own key is asked only if the account does not name the one proposed under.
  const isUnderOpenEpoch = account.epoch !== undefined && sameEpoch(account.epoch, proposal.nodeEpoch);
  const epoch = isUnderOpenEpoch ? undefined : checkNodeEpoch(context, draft, operation, proposal);
  if (epoch !== undefined) return epoch;
  const candidate = { tenant, revision, node, account };
  return checkPlacementRules(context, draft, candidate) ?? { replica, candidate };
}
