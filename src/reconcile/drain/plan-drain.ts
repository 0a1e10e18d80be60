import type { Node, NodeStatus } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { repellingTaint } from '../../model/placement-rules.js';
import type { Placement } from '../../model/parts/placement.js';
import type { Stage } from '../../model/stages.js';

export type NodeDrain = NonNullable<NodeStatus['drain']>;
export type DrainRow = NonNullable<NodeDrain['replicas']>[number];

/** Why the authority let a replica not be evicted yet, and whose move it is. */
export interface Block {
  readonly reason: string;
  readonly message: string;
  readonly nextMove: string;
}

export interface DrainInput {
  readonly node: Node;
  /** What has not ended of all that is bound to the node. */
  readonly live: readonly Replica[];
  /** Holds on the node that are neither bound nor given back. */
  readonly holds: number;
  /** What stood in the way of each replica at the last try, by uid. */
  readonly blocks: ReadonlyMap<string, Block>;
  /** Whether a later incarnation of the slot is ready. */
  readonly isReplaced: (row: DrainRow) => boolean;
  /** How long this leader has seen the drain. */
  readonly drainingMs: number;
  readonly now: string;
  readonly seen: DrainSeen;
}

/**
 * What a controller has seen of a drain: every row, shown or not, and how many it knows by number alone because another one
 * saw them. A published number is never added to, so that looking again, or publishing twice, counts nobody twice.
 */
export interface DrainSeen {
  readonly rows: readonly DrainRow[];
  readonly others: { readonly released: number; readonly replaced: number };
}

export interface DrainLook {
  readonly drain: NodeDrain;
  readonly seen: DrainSeen;
}

/** So many rows are shown; those that are not done come first, and the counts are always whole. */
export const rowsMax = 500;

const mayBeEvicted: ReadonlySet<Stage> = new Set(['Bound', 'Starting', 'Ready', 'Serving']);

/** Those that are to be asked to leave. One of which nothing is known is not: its node hears nothing anyway. */
export const evictable = (live: readonly Replica[]): readonly Replica[] =>
  live.filter(({ status }) => mayBeEvicted.has(status?.stage ?? 'Queued'));

/** Those that a NoExecute taint of their node drives away. */
export const drivenAway = (
  node: Node,
  live: readonly Replica[],
  tolerationsOf: (replica: Replica) => NonNullable<Placement['tolerations']>,
): readonly Replica[] => {
  const taints = (node.spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (taints.length === 0) return [];
  return evictable(live).filter((replica) => repellingTaint(taints, tolerationsOf(replica)) !== undefined);
};

/**
 * How far a drain has come. A row stays when its replica is gone: only what has ended is ever forgotten, so that one that
 * is not there any more was proven to have stopped. Complete: nothing that is bound there has not ended, nothing is held.
 */
export function drainStatus(input: DrainInput): DrainLook {
  const { node, live, holds, drainingMs, now } = input;
  const { others } = input.seen;
  const previous = node.status?.drain;
  const rows = rowsOf(input);
  const count = (...states: readonly DrainRow['state'][]): number =>
    rows.filter(({ state }) => states.includes(state)).length;
  const isComplete = live.length === 0 && holds === 0;
  const { deadlineSeconds } = node.spec.drain ?? {};
  const isLate = deadlineSeconds !== undefined && drainingMs >= deadlineSeconds * 1_000;
  const state = isComplete ? 'Complete' : isLate ? 'Stuck' : 'Draining';
  const message = isComplete ? '' : whatBlocks(rows, holds);
  const drain: NodeDrain = {
    state,
    startedAt: previous?.startedAt ?? now,
    observedGeneration: node.metadata.generation,
    ...(isComplete && { completedAt: previous?.completedAt ?? now }),
    planned: count('Planned', 'Blocked'),
    releasing: count('Releasing'),
    unknown: count('Unknown'),
    released: others.released + count('Released', 'Replaced'),
    replaced: others.replaced + count('Replaced'),
    ...(message !== '' && { message }),
    replicas: rows
      .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || (a.replica < b.replica ? -1 : 1))
      .slice(0, rowsMax),
  };
  return { drain, seen: { rows, others } };
}

/**
 * What a controller begins with that finds a drain as another left it. Nothing is bound to a node that drains, so that whoever
 * was counted and is neither shown nor live has been released.
 */
export function takenOver(drain: NodeDrain | undefined, live: readonly Replica[]): DrainSeen {
  const {
    replicas: rows = [],
    planned = 0,
    releasing = 0,
    unknown = 0,
    released = 0,
    replaced = 0,
  } = drain ?? {};
  const known = new Set([...rows.map(({ uid }) => uid), ...live.map(({ metadata }) => metadata.uid)]);
  const shownReplaced = rows.filter(({ state }) => state === 'Replaced').length;
  return {
    rows,
    others: {
      released: Math.max(0, planned + releasing + unknown + released - known.size),
      replaced: replaced - shownReplaced,
    },
  };
}

const order: readonly DrainRow['state'][] = [
  ...(['Unknown', 'Blocked', 'Planned', 'Releasing', 'Released', 'Replaced'] as const),
];

function rowsOf(input: DrainInput): readonly DrainRow[] {
  const rows = input.live.map((replica) => liveRow(replica, input.blocks.get(replica.metadata.uid)));
  const isLive = new Set(rows.map(({ uid }) => uid));
  for (const row of input.seen.rows) {
    if (isLive.has(row.uid)) continue;
    const { replica, uid, workload, slot } = row;
    const ended = { replica, uid, workload, slot, state: 'Released' } as const;
    rows.push(row.state === 'Replaced' || input.isReplaced(row) ? { ...ended, state: 'Replaced' } : ended);
  }
  return rows;
}

function liveRow({ metadata, spec, status }: Replica, block: Block | undefined): DrainRow {
  const node = status?.binding?.node ?? '';
  const row = {
    replica: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid,
    workload: spec.workload,
    slot: spec.slot,
  };
  switch (status?.stage) {
    case 'Unknown':
      return {
        ...row,
        state: 'Unknown',
        message: `it is not known whether it runs: ${node} comes back, its fence expires, or a person attests that it stopped`,
        nextMove: 'repair-controller',
      };
    case 'Releasing':
      return {
        ...row,
        state: 'Releasing',
        nextMove: status.isListed ? 'endpoints-controller' : `agent:${node}`,
      };
    default:
      return block === undefined
        ? { ...row, state: 'Planned', nextMove: 'drain' }
        : { ...row, state: 'Blocked', ...block };
  }
}

/** In one line, for people: what keeps it from being complete. */
function whatBlocks(rows: readonly DrainRow[], holds: number): string {
  const parts: string[] = [];
  const workloads = new Map<string, { count: number; message: string }>();
  for (const { state, replica, workload, message = '' } of rows) {
    if (state !== 'Blocked') continue;
    const key = `${replica.split('/')[0]}/${workload}`;
    workloads.set(key, { count: (workloads.get(key)?.count ?? 0) + 1, message });
  }
  for (const [workload, { count, message }] of workloads) parts.push(`${count} of ${workload}: ${message}`);
  const unknown = rows.filter(({ state }) => state === 'Unknown').map(({ replica }) => replica);
  if (unknown.length > 0) parts.push(`not known whether they run: ${unknown.slice(0, 3).join(', ')}`);
  const releasing = rows.filter(({ state }) => state === 'Releasing').length;
  if (releasing > 0) parts.push(`${releasing} are stopping`);
  if (holds > 0) parts.push(`${holds} holds are not given back`);
  return parts.join('; ').slice(0, 1_000);
}
