import { amountOf } from '../../model/amount.js';
import { chargesFinalizer, type Node, type NodeStatus } from '../../model/kinds/node.js';
import type { Attest, Gate, Register, Registered } from '../../model/ports.js';
import {
  leaseKey,
  type LeaseRecord,
  nodeAccountKey,
  type NodeAccount,
  type NodeEpoch,
  nodeEpochKey,
  nodeLeaseName,
  objectKey,
  sameEpoch,
} from '../../model/records.js';
import { checkActor, checkNodeEpoch } from '../act.js';
import { closeEpoch } from '../close-epoch.js';
import { endedTerm } from '../ended-term.js';
import { type Conditions, withConditions } from '../conditions.js';
import { type Context, nextEpoch } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import type { Draft } from '../draft.js';
import {
  leaseRecord,
  nodeAccount,
  nodeEpoch,
  putStatus,
  statusOf,
  type Stored,
  storedNode,
} from '../stored.js';
import { pastEpoch } from './remove-node.js';

/** An agent has started: its node exists, offers what it says, takes work, and has a new epoch and lease. */
export const register =
  (context: Context, input: Register): Decide<Registered> =>
  (draft) => {
    const { node: name, operation } = input;
    const before = nodeEpoch(draft, name);
    if (before?.operation === operation) {
      const { epoch, journalSince } = before;
      return already({ epoch, ...(journalSince !== undefined && { journalSince }) });
    }
    const epoch = nextEpoch(context.cell, before === undefined ? pastEpoch(draft) : before.epoch);
    const { journal } = input;
    const isSameJournal = journal !== undefined && before?.journal === journal;
    const journalSince = (isSameJournal && before?.journalSince) || epoch;
    const stored = storedNode(draft, undefined, name);
    if (stored !== undefined) keepWhileCharged(draft, stored);
    else
      draft.put(objectKey('Node', undefined, name), {
        apiVersion: 'berth.dev/v1',
        kind: 'Node',
        metadata: {
          name,
          uid: context.uid,
          generation: 1,
          creationTimestamp: context.at,
          finalizers: [chargesFinalizer],
          ...(input.labels !== undefined && { labels: input.labels }),
        },
        spec: {
          region: input.region ?? 'local',
          zone: input.zone ?? 'local',
          taints: input.taints ?? [],
          tenants: [],
          unschedulable: false,
        },
      });
    const account = nodeAccount(draft, name);
    const gate = { state: 'Open', since: context.at } as const;
    draft.put(nodeAccountKey(name), {
      used: {},
      claims: { devices: {}, ports: {} },
      revisions: {},
      ...account,
      gate,
      allocatable: amountOf(input.allocatable),
      devices: input.devices ?? {},
      epoch,
    } satisfies NodeAccount);
    draft.put(nodeEpochKey(name), {
      ...{ epoch, state: 'Open', operation, journalSince },
      ...(journal !== undefined && { journal }),
    } satisfies NodeEpoch);
    const lease = nodeLeaseName(name);
    const lastTerm = { endedBy: name, endedAt: context.at, reason: 'RegisteredAgain' };
    draft.put(leaseKey(lease), {
      holder: name,
      epoch,
      durationSeconds: input.leaseSeconds,
      ...(input.agent.address !== undefined && { address: input.agent.address }),
      acquiredAt: context.at,
      renewedAt: context.at,
      renewals: 0,
      operation,
      ...endedTerm(leaseRecord(draft, lease), lastTerm),
    } satisfies LeaseRecord);
    // What was attested is about the epoch before this one.
    const { attestation: _, ...status } = (statusOf<Node>(draft, 'Node', undefined, name) ??
      {}) as NodeStatus;
    putStatus(draft, 'Node', undefined, name, {
      ...status,
      capacity: input.capacity,
      allocatable: input.allocatable,
      devices: input.devices ?? {},
      reachability: 'Fresh',
      gate,
      epoch,
      journalSince,
      lastRenewedAt: context.at,
      agent: input.agent,
      ...conditionsSaid(input, before, status.conditions ?? [], context.at),
    });
    return commit({ epoch, journalSince });
  };

/** [L7] From now on something may be charged to it: until that has ended, to delete it is a wish. */
function keepWhileCharged(draft: Draft, stored: Stored<Node>): void {
  const { name, finalizers = [] } = stored.metadata;
  if (finalizers.includes(chargesFinalizer)) return;
  const metadata = { ...stored.metadata, finalizers: [...finalizers, chargesFinalizer] };
  draft.put(objectKey('Node', undefined, name), { ...stored, metadata });
}

/** A machine that cannot hold jobs to all of their limits says so for as long as that is so; one with another journal, until it registers again. */
function conditionsSaid(
  { agent: { unenforced = [] }, journal }: Register,
  last: NodeEpoch | undefined,
  before: Conditions,
  at: string,
): Pick<NodeStatus, 'conditions'> {
  const limits = {
    ...{ type: 'LimitsNotEnforced', reason: 'NoControlGroups' },
    message: `processes here are not held to their ${unenforced.join(', ')}: the machine does not let its agent make control groups for that`,
  };
  const lost = {
    ...{ type: 'JournalLost', reason: 'AnotherJournal' },
    message:
      'its agent does not have the journal it had before (another machine has the name, or its directory was lost or damaged): nobody knows whether what was bound here before still runs, unless its agent says so',
  };
  const isLost = last?.journal !== undefined && last.journal !== journal;
  const isSo = [...(unenforced.length > 0 ? [limits] : []), ...(isLost ? [lost] : [])];
  const isOver = [limits, lost].filter((each) => !isSo.includes(each)).map(({ type }) => type);
  const conditions = withConditions(before, isSo, isOver, at);
  return conditions === undefined ? {} : { conditions };
}

/** The detector's verdict on a node, made durable: whether new work may be bound there. */
export const gate =
  (context: Context, input: Gate): Decide<undefined> =>
  (draft) => {
    const state = input.reachability === 'Fresh' ? 'Open' : 'Closed';
    const stale =
      checkActor(context, draft, 'gate', input.actor) ??
      checkNodeEpoch(context, draft, 'gate', input, { mustBeOpen: state === 'Open' });
    if (stale !== undefined) return stale;
    const account = nodeAccount(draft, input.node);
    if (account === undefined || storedNode(draft, undefined, input.node) === undefined)
      return reject('NodeChanged', `there is no node ${input.node}`);
    const status = statusOf<Node>(draft, 'Node', undefined, input.node) as NodeStatus | undefined;
    if (account.gate.state === state && status?.reachability === input.reachability)
      return already(undefined);
    const next = { state, ...(state === 'Closed' && { reason: input.reason }), since: context.at } as const;
    draft.put(nodeAccountKey(input.node), { ...account, gate: next } satisfies NodeAccount);
    putStatus(draft, 'Node', undefined, input.node, {
      ...status,
      reachability: input.reachability,
      ...(input.evidence !== undefined && { evidence: { since: context.at, ...input.evidence } }),
      gate: next,
    });
    return commit(undefined);
  };

/** A person's word that what ran under the node's epoch has stopped; or that word taken back or expired. */
export const attest =
  (context: Context, input: Attest): Decide<undefined> =>
  (draft) => {
    const isExpiry = input.isOver === true;
    const stale = checkActor(context, draft, 'attest', input.actor);
    if (stale !== undefined) return stale;
    if (input.actor.kind !== 'operator' && !isExpiry && context.checks.has('owner.operation'))
      return reject('NotOwner', `only an operator attests, not ${input.actor.kind}`);
    const current = nodeEpoch(draft, input.node);
    if (current === undefined || storedNode(draft, undefined, input.node) === undefined)
      return reject('NodeChanged', `node ${input.node} has never registered`);
    if (!sameEpoch(current.epoch, input.nodeEpoch) && context.checks.has('epoch.attest.node'))
      return reject(
        'NodeChanged',
        `node ${input.node} has registered again since; look at it before attesting`,
      );
    const { attestation, ...rest } = current;
    if (isExpiry) {
      if (attestation === undefined) return already(undefined);
      // [S10] Another word has been given since: its own time is not over.
      if (input.given !== undefined && input.given !== attestation.operation) return already(undefined);
      const over = { ...rest, lastAttestation: attestation.operation };
      draft.put(nodeEpochKey(input.node), over satisfies NodeEpoch);
      showAttestation(draft, input.node, undefined);
      return commit(undefined);
    }
    if ([attestation?.operation, rest.lastAttestation].includes(input.operation)) return already(undefined);
    // What it is about must not grow: nothing is bound, reported or renewed under that epoch from now on, also when
    // the word is taken back, and an agent that is alive after all registers again.
    const given = {
      by: input.actor.name,
      reason: input.reason,
      at: context.at,
      forSeconds: input.forSeconds,
      operation: input.operation,
    };
    const attested = { ...rest, attestation: given };
    if (context.checks.has('attest.closeEpoch')) closeEpoch(context, draft, input.node, attested);
    else draft.put(nodeEpochKey(input.node), attested satisfies NodeEpoch);
    showAttestation(draft, input.node, given);
    return commit(undefined);
  };

/** Where people and controllers see it. */
function showAttestation(draft: Draft, node: string, attestation: NodeStatus['attestation']): void {
  const { attestation: _, ...status } = (statusOf<Node>(draft, 'Node', undefined, node) ?? {}) as NodeStatus;
  putStatus(draft, 'Node', undefined, node, attestation === undefined ? status : { ...status, attestation });
}
