import type { ReplicaSpec } from '../../model/kinds/replica.js';
import type { Evict } from '../../model/ports.js';
import { slotKey } from '../../model/records.js';
import type { Stage, StageActor } from '../../model/stages.js';
import { isTerminal } from '../../model/stages.js';
import { putWorkloadAccount } from '../accounts.js';
import { checkActor, checkEdge } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject, type Rejection } from '../decision.js';
import type { Draft } from '../draft.js';
import {
  findReplica,
  movedBefore,
  type LiveReplica,
  moveReplica,
  stepBy,
  type Step,
  replicaGone,
} from '../replica-moves.js';
import { slotRecord, storedWorkload, workloadAccount } from '../stored.js';

/** Causes that somebody chose, and that therefore obey the disruption limit of the workload. */
const voluntary: readonly string[] = ['rollout', 'drain', 'preemption'];

/** Asks for the release of a replica that may run. The intent is a field of its own and survives Unknown. */
export const evict =
  (context: Context, input: Evict): Decide<{ readonly stage: Stage }> =>
  (draft) => {
    const replica = findReplica(draft, input.replica);
    if (replica === undefined) return replicaGone(input.replica);
    const { stage } = replica.status;
    const moved = movedBefore(context, replica.status, input.operation);
    if (moved !== undefined) return already({ stage: moved });
    const refused =
      checkActor(context, draft, 'evict', input.actor) ??
      checkEdge(context, input.actor.kind as StageActor, stage, 'Releasing');
    if (refused !== undefined) return refused;
    const by = stepBy(input.actor);
    const limited = disrupt(context, draft, replica, {
      ...by,
      ...(input.evidence !== undefined && { evidence: { ...by.evidence, ...input.evidence } }),
      reason: input.reason,
      operation: input.operation,
      isLimited: voluntary.includes(input.actor.kind),
      ...(input.message !== undefined && { message: input.message }),
      ...(input.graceSeconds !== undefined && { graceSeconds: input.graceSeconds }),
    });
    return limited ?? commit({ stage: 'Releasing' });
  };

export interface Disruption extends Omit<Step, 'to'> {
  /** Whether the workload's disruption limit applies. */
  readonly isLimited: boolean;
  readonly message?: string;
  readonly graceSeconds?: number;
  /** The hold that gets what it frees. */
  readonly awaitedBy?: string;
}

/** Writes the eviction, and counts it against the workload's one limit for all voluntary causes. */
export function disrupt(
  context: Context,
  draft: Draft,
  replica: LiveReplica,
  disruption: Disruption,
): Rejection | undefined {
  const { status } = replica;
  const { isLimited, message, graceSeconds, awaitedBy, ...step } = disruption;
  const change = {
    intent: {
      actor: step.actor,
      reason: step.reason,
      operation: step.operation,
      at: context.at,
      ...(message !== undefined && { message }),
      ...(graceSeconds !== undefined && { graceSeconds }),
    },
    ...(awaitedBy !== undefined && { awaitedBy }),
  };
  if (isTerminal(status.stage)) return reject('NoSuchEdge', `${replica.name} has ended`);
  // What does not obey the limit does not look at it either: one transaction carries more such victims.
  const limited = isLimited ? countDisruption(context, draft, replica, step.actor) : undefined;
  if (limited !== undefined) return limited;
  moveReplica(context, draft, replica, { ...step, to: 'Releasing' }, change);
  return undefined;
}

function countDisruption(
  context: Context,
  draft: Draft,
  { tenant, stored }: LiveReplica,
  actor: string,
): Rejection | undefined {
  const { workload, slot } = stored.spec;
  const record = slotRecord(draft, tenant, workload, slot);
  const isCurrent = record?.replicaUid === stored.metadata.uid;
  const spec = storedWorkload(draft, tenant, workload)?.spec;
  // A Daemon's slot is its node: nobody takes the place of one that leaves with it, so that it would count for ever.
  if (spec?.type === 'Daemon' && actor.startsWith('drain:')) return undefined;
  if (record === undefined || !isCurrent || record.isDisrupted === true) return undefined;
  const account = workloadAccount(draft, tenant, workload);
  const most = spec?.disruption?.maxUnavailable ?? 1;
  const isOver = account.disrupted > most || (account.disrupted === most && context.checks.has('evict.last'));
  if (isOver && context.checks.has('evict.disruption'))
    return reject(
      'DisruptionLimit',
      `${account.disrupted} replicas of ${workload} are disrupted; at most ${most} at once`,
    );
  if (context.checks.has('evict.slot'))
    draft.put(slotKey(tenant, workload, slot), { ...record, isDisrupted: true });
  putWorkloadAccount(draft, tenant, workload, { ...account, disrupted: account.disrupted + 1 });
  return undefined;
}

/** An incarnation that serves has taken a disrupted slot, or the slot is dropped: the disruption is over. */
export function endDisruption(
  draft: Draft,
  { workload, slot }: Pick<ReplicaSpec, 'workload' | 'slot'>,
  tenant: string,
  isDropped = false,
): void {
  const record = slotRecord(draft, tenant, workload, slot);
  if (record?.isDisrupted !== true) return;
  const account = workloadAccount(draft, tenant, workload);
  putWorkloadAccount(draft, tenant, workload, { ...account, disrupted: account.disrupted - 1 });
  if (isDropped) return;
  const { isDisrupted: _, ...rest } = record;
  draft.put(slotKey(tenant, workload, slot), rest);
}
