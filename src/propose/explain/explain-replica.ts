import type { Explanation, PlacementFacts } from '../../model/explanation.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { waitingMessage, waitingOf } from '../../model/waiting.js';

/** What is known of a replica. */
export interface ReplicaFacts {
  readonly replica: Replica;
  readonly workload: Workload | undefined;
  readonly revision: WorkloadRevision | undefined;
  /** The node it is bound to. */
  readonly node: Node | undefined;
  readonly gang: Gang | undefined;
  /** Absent unless it waits to be placed. */
  readonly placement: PlacementFacts | undefined;
}

export type ObjectSide = Omit<Explanation, 'target' | 'decisions' | 'unanswered'>;

const startDeadlineSecondsUsual = 300;

/** Where a replica stands, what it waits for, and whose move is next. */
export function explainReplica(facts: ReplicaFacts): ObjectSide {
  const { replica, workload, placement } = facts;
  const stage = replica.status?.stage ?? 'Queued';
  const waiting = waitingOf(replica, workload?.spec.type === 'Batch');
  const last = replica.status?.transitions?.at(-1);
  const node = replica.status?.binding?.node;
  const state = stateOf(facts, stage, waiting !== undefined);
  // What the scheduler told it may be old: what the rules say now goes first.
  const refusal =
    stage === 'Queued' && state === 'CannotBePlaced' ? refusalOf(placement, waiting?.reason) : undefined;
  const message = refusal?.message ?? waitingMessage(replica);
  const deadline = deadlineOf(facts, stage);
  const isOver = isTerminal(stage);
  const common = {
    state,
    stages: { [stage]: 1 },
    ...(node !== undefined && { node }),
    ...(last !== undefined && { since: last.at, operation: last.operation }),
    ...(message !== '' && { message }),
    ...(placement !== undefined && { placement }),
    notes: notesOf(facts, stage),
  };
  const reason = isOver ? (last?.reason ?? stage) : (refusal?.reason ?? waiting?.reason);
  const limitedBy = refusal !== undefined && refusal === placement?.quota ? 'Quota' : waiting?.boundary;
  return {
    ...common,
    ...(reason !== undefined && { reason }),
    ...(!isOver &&
      waiting !== undefined && {
        ...(limitedBy !== undefined && { limitedBy }),
        nextMove: waiting.nextMove,
      }),
    ...(deadline !== undefined && { deadline }),
    answer: `replica ${replica.metadata.namespace}/${replica.metadata.name} ${verdict(facts, stage, state, reason)}`,
  };
}

/** The one refusal that is told: quota holds for every node, else what the scheduler named, else what rules out most. */
export const refusalOf = (
  placement: PlacementFacts | undefined,
  told?: string,
): { readonly reason: string; readonly message: string } | undefined =>
  placement?.quota ?? placement?.rejections.find(({ reason }) => reason === told) ?? placement?.rejections[0];

/** Why it cannot be placed now: `none of 12 nodes takes it (9 NodeFull, 3 Tainted)`. */
export function shownRefusal({ together, ...facts }: PlacementFacts, it: string): string {
  if (together === undefined) return shownRefusalOfOne(facts, it);
  const { places, wanted } = together;
  return `${places} of ${wanted} members find a place at once: ${shownRefusalOfOne(facts, places === 0 ? 'one' : 'one more')}`;
}

function shownRefusalOfOne({ quota, nodes, fits, rejections }: PlacementFacts, it: string): string {
  const counts = rejections.map(({ reason, count }) => `${count} ${reason}`).join(', ');
  const onNodes =
    nodes === 0
      ? 'there are no nodes'
      : nodes === 1
        ? `the only node for ${it} does not take it (${counts})`
        : `none of ${nodes} nodes takes ${it} (${counts})`;
  if (quota === undefined) return onNodes;
  return fits.count > 0 ? quota.message : `${quota.message}, and ${onNodes}`;
}

/** Where room is made: `2 replicas have to leave node n7 for it`. */
export function shownRoom(
  { node, nodes = 1, evictions }: NonNullable<PlacementFacts['room']>,
  it: string,
): string {
  if (evictions === 0) return `what ${it} needs comes free on node ${node}`;
  const where = nodes === 1 ? `node ${node}` : `${nodes} nodes`;
  return evictions === 1
    ? `1 replica has to leave ${where} for ${it}`
    : `${evictions} replicas have to leave ${where} for ${it}`;
}

function stateOf(
  { replica, placement }: ReplicaFacts,
  stage: Stage,
  isWaiting: boolean,
): Explanation['state'] {
  if (stage === 'Unknown') return 'Unknown';
  if (stage === 'Failed') return 'Failed';
  if (isTerminal(stage)) return 'Ended';
  if (stage === 'Queued' && placement !== undefined)
    return placement.isPlaceable || placement.room !== undefined ? 'OnItsWay' : 'CannotBePlaced';
  if (stage === 'Queued' && replica.status?.conditions?.some(isRetrying) === true) return 'CannotBePlaced';
  return isWaiting ? 'OnItsWay' : 'AsWanted';
}

const isRetrying = ({ type, status }: { readonly type: string; readonly status: string }): boolean =>
  type === 'SchedulingRetrying' && status === 'True';

function verdict(
  { replica, placement, node }: ReplicaFacts,
  stage: Stage,
  state: Explanation['state'],
  reason: string | undefined,
): string {
  const on = node === undefined ? '' : ` on ${node.metadata.name}`;
  const because = reason === undefined ? '' : `: ${reason}`;
  switch (stage) {
    case 'Admitted':
      return `is not for the scheduler yet${because}`;
    case 'Queued':
      if (state === 'CannotBePlaced' && placement !== undefined)
        return `cannot be placed: ${shownRefusal(placement, 'it')}`;
      if (state === 'CannotBePlaced') return `was not placed yet${because}`;
      if (placement?.room !== undefined) return `waits for the scheduler; ${shownRoom(placement.room, 'it')}`;
      return placement === undefined
        ? 'waits for the scheduler'
        : `waits for the scheduler; ${placement.fits.count} of ${placement.nodes} nodes would take it now`;
    case 'Scheduled':
      return `holds capacity and is not bound yet${because}`;
    case 'Bound':
      return `is bound${on} and its agent has not reported a start${because}`;
    case 'Starting':
      return replica.status?.driverId === undefined
        ? `is being started${on}${because}`
        : `runs${on} and is not ready yet${because}`;
    case 'Ready':
      return state === 'AsWanted' ? `runs${on}` : `is ready${on} and takes no traffic yet${because}`;
    case 'Serving':
      return `serves${on}`;
    case 'Unknown':
      return `is of unknown fate${on}${because}: nobody knows whether it runs`;
    case 'Releasing':
      return `is being released${on}${because}`;
    case 'Succeeded':
      return 'has succeeded';
    case 'Failed':
      return `has failed${because}`;
    case 'Released':
      return `was released${because}`;
  }
}

function notesOf({ replica, node, gang, workload }: ReplicaFacts, stage: Stage): string[] {
  const { status } = replica;
  const notes: string[] = [];
  if (replica.metadata.deletionTimestamp !== undefined) notes.push('it is being deleted');
  if (workload === undefined) notes.push(`its workload ${replica.spec.workload} is gone`);
  if (status?.intent !== undefined)
    notes.push(`${status.intent.actor} asked for its release: ${status.intent.reason}`);
  if (status?.step !== undefined && !isTerminal(stage)) notes.push(`its agent: ${status.step}`);
  if (status?.exitCode !== undefined) notes.push(`its last execution ended with ${status.exitCode}`);
  if ((status?.executions ?? 0) > 1) notes.push(`it was started ${status?.executions} times`);
  if (gang !== undefined && gang.status?.state !== 'Committed')
    notes.push(
      `its gang ${gang.metadata.name} is ${gang.status?.state ?? 'Waiting'}: ${gang.status?.holds ?? 0} of ${gang.spec.minAvailable} hold capacity`,
    );
  if (node !== undefined && !isTerminal(stage)) {
    const { reachability, gate } = node.status ?? {};
    if (reachability !== undefined && reachability !== 'Fresh')
      notes.push(`node ${node.metadata.name} is ${reachability}`);
    if (gate?.state === 'Closed') notes.push(`the gate of its node is closed: ${gate.reason ?? 'no reason'}`);
    if (node.spec.drain !== undefined) notes.push(`node ${node.metadata.name} is being drained`);
  }
  for (const { type, status: is, reason, message } of status?.conditions ?? [])
    if (is === 'True' && type !== 'Bound' && type !== 'SchedulingRetrying')
      notes.push(`${type}: ${reason}${message === undefined || message === '' ? '' : ` (${message})`}`);
  return notes;
}

function deadlineOf({ replica, revision }: ReplicaFacts, stage: Stage): string | undefined {
  if (stage !== 'Bound' && stage !== 'Starting') return undefined;
  const bound = replica.status?.transitions?.findLast(({ to }) => to === 'Bound');
  if (bound === undefined) return undefined;
  const seconds = revision?.spec.template.startDeadlineSeconds ?? startDeadlineSecondsUsual;
  return new Date(Date.parse(bound.at) + seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
}
