import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Node, NodeStatus } from '../../model/kinds/node.js';
import { plus } from '../../model/plus.js';
import { isInJournal } from '../../model/journal.js';
import type { Report } from '../../model/ports.js';
import { shownEpoch } from '../../model/records.js';
import type { Stage } from '../../model/stages.js';
import { checkEdge, checkNodeEpoch } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { findReplica, movedBefore, moveReplica, replicaGone } from '../replica-moves.js';
import type { Draft } from '../draft.js';
import { withConditions } from '../conditions.js';
import { nodeEpoch, putStatus, slotRecord, statusOf, storedWorkload } from '../stored.js';
import { endDisruption } from './disrupt.js';

/** An agent's word on a replica of its node, under its node's epoch and the binding's fence. */
export const report =
  (context: Context, input: Report): Decide<{ readonly stage: Stage }> =>
  (draft) => {
    const found = findReplica(draft, input.replica);
    if (found === undefined) return replicaGone(input.replica);
    const replica = { ...found, status: withoutCleared(found.status, input) };
    const { status, stored, tenant } = replica;
    const moved = movedBefore(context, status, input.operation);
    if (moved !== undefined) return already({ stage: moved });
    const stale = checkNodeEpoch(context, draft, 'report', input);
    if (stale !== undefined) return stale;
    const { binding } = status;
    if (binding === undefined || (binding.node !== input.node && context.checks.has('owner.report.node')))
      return reject(
        'NotOwner',
        `${replica.name} is bound to ${binding?.node ?? 'no node'}, not to ${input.node}`,
      );
    if (binding.fence !== input.fence && context.checks.has('epoch.report.fence'))
      return reject('NotOwner', `the fence of ${replica.name} is ${binding.fence}, not ${input.fence}`);
    const journalSince = nodeEpoch(draft, input.node)?.journalSince;
    const isKnown = isInJournal(binding, journalSince);
    const facts = {
      ...factsOf(input),
      ...overrunOf(context, draft, input, status),
      ...(!isKnown && { binding: { ...binding, knownSince: input.nodeEpoch } }),
    };
    const { workload, slot } = stored.spec;
    const isHolder = slotRecord(draft, tenant, workload, slot)?.replicaUid === stored.metadata.uid;
    // Whoever was replaced meanwhile does not come back: it is told to stop.
    const isSuperseded = status.stage === 'Unknown' && !isHolder && context.checks.has('unknown.superseded');
    const isEnd = input.stage === 'Succeeded' || input.stage === 'Failed' || input.stage === 'Released';
    const to = isSuperseded && !isEnd ? 'Releasing' : returned(status, input.stage);
    if (to === status.stage) {
      const next = plus(status, facts);
      if (JSON.stringify(next) === JSON.stringify(found.status)) return already({ stage: to });
      putStatus(draft, 'Replica', tenant, replica.name, next);
      return commit({ stage: to });
    }
    // [S5] Who does not know of it cannot know that it has ended: whoever had the name before may still run it.
    if (isEnd && !isKnown && input.isKnown !== true && context.checks.has('report.journal'))
      return reject(
        'NotOwner',
        `${replica.name} was bound before the journal of ${input.node} began at epoch ${shownEpoch(journalSince ?? input.nodeEpoch)}: that it has ended is not in it`,
      );
    const edge = checkEdge(context, 'agent', status.stage, to);
    if (edge !== undefined) return edge;
    const change: Partial<ReplicaStatus> =
      isSuperseded && status.intent === undefined && to === 'Releasing'
        ? {
            ...facts,
            intent: {
              actor: `agent:${input.node}`,
              reason: 'Superseded',
              operation: input.operation,
              at: context.at,
            },
          }
        : facts;
    moveReplica(
      context,
      draft,
      replica,
      {
        to,
        actor: `agent:${input.node}`,
        epoch: input.nodeEpoch,
        reason: isSuperseded && !isEnd ? 'Superseded' : input.reason,
        operation: input.operation,
        ...(input.evidence !== undefined && { evidence: input.evidence }),
      },
      change,
    );
    // A batch replica need never serve: that it is done is as good. One that failed may never run again, and holds up nobody.
    const isDone =
      to === 'Succeeded' ||
      (to === 'Failed' && storedWorkload(draft, tenant, workload)?.spec.type === 'Batch');
    if (isHolder && (to === 'Serving' || isDone)) endDisruption(draft, stored.spec, tenant);
    return commit({ stage: to });
  };

/** One that was asked to stop before its node was lost still has to: it does not come back as running. */
const returned = (status: ReplicaStatus, stage: Stage): Stage =>
  status.stage === 'Unknown' &&
  status.intent !== undefined &&
  (stage === 'Bound' || stage === 'Starting' || stage === 'Ready' || stage === 'Serving')
    ? 'Releasing'
    : stage;

/** [S5] Outside the assumptions of the fence: said on the replica and on its node, so that people look at both. */
function overrunOf(
  context: Context,
  draft: Draft,
  { node, replica, overrunSeconds }: Report,
  status: ReplicaStatus,
): Pick<ReplicaStatus, 'conditions'> {
  if (overrunSeconds === undefined) return {};
  const said = {
    ...{ type: 'FenceOverrun', reason: 'RanPastItsFence' },
    message: `${replica.name} ran ${overrunSeconds} s longer on ${node} than it was permitted to, and may have run beside its successor`,
  };
  const nodeStatus = statusOf<Node>(draft, 'Node', undefined, node) as NodeStatus | undefined;
  const onNode = withConditions(nodeStatus?.conditions ?? [], [said], [], context.at);
  if (onNode !== undefined) putStatus(draft, 'Node', undefined, node, { ...nodeStatus, conditions: onNode });
  const conditions = withConditions(status.conditions ?? [], [said], [], context.at);
  return conditions === undefined ? {} : { conditions };
}

/** A step or a message that is over is said as an empty one, and is not kept. */
function withoutCleared(status: ReplicaStatus, { step, message }: Report): ReplicaStatus {
  const isOver = (name: string): boolean =>
    (name === 'step' && step === '') || (name === 'message' && message === '');
  if (!Object.keys(status).some(isOver)) return status;
  return Object.fromEntries(Object.entries(status).filter(([name]) => !isOver(name))) as ReplicaStatus;
}

function factsOf(input: Report): Partial<ReplicaStatus> {
  const { exitCode, driverId, step, address, executions, readiness, message } = input;
  return {
    ...(exitCode !== undefined && { exitCode }),
    ...(driverId !== undefined && { driverId }),
    ...(step !== undefined && step !== '' && { step }),
    ...(address !== undefined && { address }),
    ...(executions !== undefined && { executions }),
    ...(readiness !== undefined && { readiness }),
    ...(message !== undefined && message !== '' && { message }),
  };
}
