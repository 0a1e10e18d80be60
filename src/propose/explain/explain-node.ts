import type { Node } from '../../model/kinds/node.js';
import type { NodeLedger } from '../../model/kinds/node-ledger.js';
import type { Replica } from '../../model/kinds/replica.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { shownTaint } from '../../model/placement-rules.js';
import type { ObjectSide } from './explain-replica.js';

export interface NodeFacts {
  readonly node: Node;
  readonly ledger: NodeLedger | undefined;
  /** Those bound to it that whoever asks may see. */
  readonly replicas: readonly Replica[];
}

/** Whether a node takes new work, and what keeps it from it. */
export function explainNode({ node, ledger, replicas }: NodeFacts): ObjectSide {
  const { metadata, spec, status } = node;
  const stages: Partial<Record<Stage, number>> = {};
  for (const replica of replicas) {
    const stage = replica.status?.stage ?? 'Queued';
    if (!isTerminal(stage)) stages[stage] = (stages[stage] ?? 0) + 1;
  }
  const refusal = refusalOf(node, ledger);
  const { used, allocatable } = ledger?.status ?? {};
  const amounts = (['cpu', 'memory'] as const).flatMap((name) =>
    allocatable?.[name] === undefined ? [] : [`${used?.[name] ?? 0} of ${allocatable[name]} ${name}`],
  );
  const taints = (spec.taints ?? []).map(shownTaint);
  return {
    state:
      status?.reachability === 'Lost' || status?.reachability === 'Unknown'
        ? 'Unknown'
        : refusal === undefined
          ? 'AsWanted'
          : 'OnItsWay',
    stages,
    ...(refusal !== undefined && { reason: refusal.reason, nextMove: refusal.nextMove }),
    ...(status?.gate?.since !== undefined && { since: status.gate.since }),
    notes: [
      ...(amounts.length === 0 ? [] : [`committed: ${amounts.join(', ')}`]),
      ...(ledger?.status?.overcommitted === 'Overcommitted'
        ? ['it offers less than is committed: use may only shrink']
        : []),
      ...(taints.length === 0 ? [] : [`taints: ${taints.join(', ')}`]),
      ...((spec.tenants ?? []).length === 0 ? [] : [`only for tenants ${spec.tenants?.join(', ')}`]),
      ...(status?.evidence === undefined || status.reachability === 'Fresh'
        ? []
        : [`${status.reachability} since ${status.evidence.since}: ${status.evidence.why}`]),
      ...(status?.conditions ?? []).flatMap(({ type, status: is, message }) =>
        is === 'True' ? [`${type}: ${message}`] : [],
      ),
      ...(status?.attestation === undefined
        ? []
        : [`${status.attestation.by} attests that what ran here has stopped: ${status.attestation.reason}`]),
      `in ${spec.region ?? 'local'}/${spec.zone ?? 'local'}, last heard of ${status?.lastRenewedAt ?? 'never'}`,
    ],
    answer: `node ${metadata.name} ${
      refusal === undefined ? 'takes new work' : `takes nothing new: ${refusal.words}`
    }`,
  };
}

interface Refusal {
  readonly reason: string;
  readonly words: string;
  readonly nextMove: string;
}

/** What keeps everything away from it, whatever it is. */
function refusalOf({ metadata, spec, status }: Node, ledger: NodeLedger | undefined): Refusal | undefined {
  const agent = `agent:${metadata.name}`;
  if (ledger === undefined)
    return { reason: 'NotRegistered', words: 'no agent has registered it', nextMove: agent };
  const gate = ledger.status?.gate;
  if (gate?.state === 'Closed')
    return {
      reason: 'GateClosed',
      words: `its gate is closed (${gate.reason ?? status?.reachability ?? 'no reason'})`,
      nextMove: agent,
    };
  if (metadata.deletionTimestamp !== undefined)
    return { reason: 'Tainted', words: 'it is being deleted', nextMove: 'operator' };
  if (spec.drain !== undefined)
    return {
      reason: 'Tainted',
      words: `it is being drained (${spec.drain.reason ?? 'no reason'})`,
      nextMove: 'drain',
    };
  if (spec.unschedulable === true)
    return { reason: 'Tainted', words: 'it is unschedulable', nextMove: 'operator' };
  return undefined;
}
