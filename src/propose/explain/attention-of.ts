import { type AttentionItem, severities, type Severity } from '../../model/attention.js';
import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Node } from '../../model/kinds/node.js';
import type { Region } from '../../model/kinds/region.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { nodeOfLease } from '../../model/records.js';

/** The server that answers, as it knows itself. */
export interface ServerFacts {
  readonly name: string;
  /** Why it is not up to date with the store, and for how long; undefined if it is. */
  readonly notReady: { readonly forMs: number; readonly message: string } | undefined;
}

export interface AttentionFacts {
  readonly server: ServerFacts;
  readonly nodes: Iterable<Node>;
  readonly regions: Iterable<Region>;
  readonly leases: Iterable<Lease>;
  readonly workloads: Iterable<Workload>;
  readonly endpoints: Iterable<Endpoints>;
  /** The replicas of a workload of which something is not known. */
  readonly replicasOf: (workload: Workload) => Iterable<Replica>;
  /** The time of day, which the `since` of others is compared with: it decides what people are told, nothing else. */
  readonly nowMs: number;
}

/** What needs attention, worst first; among equals what has lasted longest. Pure. */
export function attentionOf(facts: AttentionFacts): readonly AttentionItem[] {
  const items = [
    ...each(facts.leases, aboutLease),
    ...each(facts.regions, aboutRegion),
    ...each(facts.nodes, aboutNode),
    ...each(facts.workloads, (workload) => aboutWorkload(workload, facts)),
    ...each(facts.endpoints, aboutEndpoints),
  ];
  const rank = ({ severity }: AttentionItem): number => severities.indexOf(severity);
  const sorted = items.toSorted(
    (a, b) => rank(a) - rank(b) || order(a.since ?? '~', b.since ?? '~') || order(a.name, b.name),
  );
  return [...aboutServer(facts), ...sorted];
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function* each<T>(all: Iterable<T>, about: (one: T) => Iterable<AttentionItem>): Generator<AttentionItem> {
  for (const one of all) yield* about(one);
}

/** Comes first: while the server is cut off, the rest of the list is old. */
function* aboutServer({ server, nowMs }: AttentionFacts): Generator<AttentionItem> {
  if (server.notReady === undefined) return;
  const { forMs, message } = server.notReady;
  yield {
    ...{ severity: 'Broken', kind: 'Server', name: server.name, reason: 'NotReady', nextMove: 'operator' },
    message: `not up to date with the store, and writes are refused: ${message}`,
    since: new Date(nowMs - forMs).toISOString(),
  };
}

function* aboutLease({ metadata, spec }: Lease): Generator<AttentionItem> {
  if (nodeOfLease(metadata.name) !== undefined || spec.holder !== '') return;
  yield {
    ...{ severity: 'Broken', kind: 'Lease', name: metadata.name, reason: 'NobodyLeads' },
    message: `nobody acts as ${metadata.name}: what it does is not done`,
    nextMove: 'operator',
  };
}

function* aboutRegion({ metadata, status }: Region): Generator<AttentionItem> {
  const braked = conditionOf(status?.conditions, 'Braked');
  if (braked === undefined) return;
  yield {
    ...{ severity: 'Degraded', kind: 'Region', name: metadata.name, reason: 'Braked' },
    ...{ message: braked.message ?? '', since: braked.lastTransitionTime, nextMove: 'operator' },
  };
}

function* aboutNode({ metadata, spec, status }: Node): Generator<AttentionItem> {
  const { name } = metadata;
  const item = (severity: Severity, reason: string, message: string, nextMove: string, since?: string) => ({
    ...{ severity, kind: 'Node', name, reason, message, nextMove },
    ...(since !== undefined && { since }),
  });
  const { reachability, evidence, gate, attestation, drain } = status ?? {};
  const why = evidence?.why ?? gate?.reason ?? '';
  const since = evidence?.since ?? gate?.since;
  const isDrained = spec.drain !== undefined && drain?.state === 'Complete';
  // Nothing of it is missed: it may have been switched off.
  if (!isDrained && (reachability === 'Unknown' || reachability === 'Lost'))
    yield item('Broken', `Node${reachability}`, why, `agent:${name}`, since);
  if (!isDrained && reachability === 'Suspect')
    yield item('Degraded', 'NodeSuspect', why, `agent:${name}`, since);
  const overrun = conditionOf(status?.conditions, 'FenceOverrun');
  if (overrun !== undefined)
    yield item('Broken', 'FenceOverrun', overrun.message ?? '', 'operator', overrun.lastTransitionTime);
  if (attestation !== undefined)
    yield item('Notice', 'Attested', `${attestation.by}: ${attestation.reason}`, 'operator', attestation.at);
  if (metadata.deletionTimestamp !== undefined) {
    const goes = 'it takes nothing new, and goes when nothing is charged to it';
    const nextMove = drain?.replicas?.[0]?.nextMove ?? 'repair-controller';
    yield item('Notice', 'BeingDeleted', drain?.message ?? goes, nextMove, metadata.deletionTimestamp);
    return;
  }
  if (spec.drain === undefined) {
    if (spec.unschedulable === true) yield item('Notice', 'Cordoned', 'it takes nothing new', 'operator');
    return;
  }
  if (isDrained)
    yield item('Notice', 'Drained', 'it may be taken away, or uncordoned', 'operator', drain.completedAt);
  else
    yield item(
      drain?.state === 'Stuck' ? 'Degraded' : 'Notice',
      drain?.state === 'Stuck' ? 'DrainStuck' : 'Draining',
      drain?.message ?? spec.drain.reason ?? '',
      drain?.replicas?.[0]?.nextMove ?? 'drain',
      drain?.startedAt,
    );
}

// From Ready to Serving, or out of the way of the next incarnation, takes a moment: so long it is progress, not trouble.
const momentMsLeast = 10_000;

function* aboutWorkload(
  workload: Workload,
  { replicasOf, nowMs }: Pick<AttentionFacts, 'replicasOf' | 'nowMs'>,
): Generator<AttentionItem> {
  const { metadata, spec, status } = workload;
  const { namespace = '', name } = metadata;
  const about = { kind: 'Workload', namespace, name } as const;
  const { progress, conditions, desired = 0, readyReplicas = 0, unknownReplicas = 0 } = status ?? {};
  const failed = conditionOf(conditions, 'Failed');
  if (failed !== undefined) {
    const { reason = 'Failed', message = '', lastTransitionTime: since } = failed;
    yield { severity: 'Broken', ...about, reason, message, since, nextMove: `user:${namespace}` };
    return;
  }
  if (unknownReplicas > 0) yield aboutUnknown(workload, unknownReplicas, replicasOf(workload));
  if (spec.suspend === true) {
    const said = { reason: 'Suspended', message: 'nothing of it is started until its user resumes it' };
    yield { severity: 'Notice', ...about, ...said, nextMove: `user:${namespace}` };
    return;
  }
  const isBatch = spec.type === 'Batch';
  // A batch is there when it runs, a service when clients are sent to it.
  const there = isBatch ? readyReplicas : (status?.servingReplicas ?? 0);
  const { limitedBy, reason = '', message = '', nextMove = 'workload-controller' } = progress ?? {};
  const since = progress?.since ?? conditions?.find(({ type }) => type === 'Available')?.lastTransitionTime;
  const isShort = there < desired;
  const isLimited = limitedBy !== undefined;
  // What no boundary limits is not known, which was said, or on its way out.
  const isTrouble = isBatch ? isLimited && isShort : isLimited || (isShort && unknownReplicas === 0);
  if (!isTrouble) return;
  const isBrief = limitedBy === undefined || (limitedBy === 'Traffic' && readyReplicas >= desired);
  const momentMs = momentMsLeast + (spec.template.minReadySeconds ?? 0) * 1_000;
  if (isBrief && since !== undefined && nowMs - Date.parse(since) < momentMs) return;
  yield {
    severity: there === 0 ? 'Broken' : 'Degraded',
    ...about,
    reason: limitedBy === undefined ? 'NotAllServing' : `LimitedBy${limitedBy}`,
    message: [`${there} of ${desired} ${isBatch ? 'run' : 'serve'}`, reason, message]
      .filter((part) => part !== '')
      .join(': '),
    ...(since !== undefined && { since }),
    nextMove,
  };
}

function aboutUnknown({ metadata }: Workload, unknown: number, replicas: Iterable<Replica>): AttentionItem {
  const { namespace = '', name } = metadata;
  const about = { kind: 'Workload', namespace, name } as const;
  for (const replica of replicas) {
    const needs = conditionOf(replica.status?.conditions, 'NeedsHuman');
    if (needs === undefined) continue;
    const node = replica.status?.binding?.node ?? '';
    return {
      severity: 'Broken',
      ...about,
      reason: 'NeedsHuman',
      message: `${replica.metadata.name} on ${node}: ${needs.message ?? ''}`,
      since: needs.lastTransitionTime,
      nextMove: 'operator',
    };
  }
  return {
    ...{ severity: 'Degraded', ...about, reason: 'ReplicasUnknown' },
    message: `of ${unknown} replicas it is not known whether they run`,
    nextMove: 'repair-controller',
  };
}

function* aboutEndpoints({ metadata, status }: Endpoints): Generator<AttentionItem> {
  if (status?.source !== 'LastKnown') return;
  yield {
    ...{ severity: 'Degraded', kind: 'Endpoints', namespace: metadata.namespace ?? '', name: metadata.name },
    ...{ reason: 'LastKnown', message: 'clients are sent where replicas were last known to be' },
    nextMove: 'operator',
  };
}

interface ConditionLike {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
}

/** The condition of this type, if it is so. */
const conditionOf = (all: readonly ConditionLike[] | undefined, type: string): ConditionLike | undefined =>
  all?.find((condition) => condition.type === type && condition.status === 'True');
