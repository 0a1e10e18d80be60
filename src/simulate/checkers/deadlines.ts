import { fenceContract } from '../../model/fence-contract.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Region } from '../../model/kinds/region.js';
import type { Replica, ReplicaStatus } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { fenceKey, type FenceRecord, nodeLeaseName, objectKey, statusKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { placeOf } from './cell-view.js';
import type { CellState, Commit, CommittedChange } from './checker.js';
import { LeadingTerms } from './leading-terms.js';
import { shownMs } from './shown-ms.js';
import { type LivenessFacts, type LivenessResult, resultOf } from './liveness-facts.js';

/**
 * What an expiry may be late by: a wake-up that was lost is made up for by the next look at everything, a paused leader
 * goes on where it was, a write is tried again.
 */
const slackMs = 45_000;
/** What an agent's own deadlines may be late by before repair draws conclusions, and how long one that is back is asked. */
const [reportMs, answerMs] = [30_000, 60_000];
/** Clocks of those who count run at slightly different rates. */
const driftMax = 0.002;
const [startSecondsUsual, graceSecondsUsual] = [300, 8];

/** Something that must not last for ever. */
interface Stay {
  readonly what: string;
  readonly deadlineMs: number;
  /** When its time began. */
  readonly fromMs: number;
  /** Since when it has been so, which may be later: whoever ends it cannot have been late before. */
  readonly sinceMs: number;
  /** The lease under which it is ended. */
  readonly lease: string;
}

/**
 * [L5] Every deadline of the stages takes effect: a hold expires, what is bound or starting or releasing for too long is
 * called Unknown or ends, so does what is on a node whose lease has expired, and what stays Unknown may be replaced if its
 * workload says so, and asks for a human. A drain that takes too long is called stuck, and the word of a human expires.
 * Deadlines are counted by whoever leads from when it leads: of a time in which nobody did nothing can be said.
 */
export function deadlinesTakeEffect(state: CellState, { commits, endMs }: LivenessFacts): LivenessResult {
  const history = new DeadlineHistory();
  for (const commit of commits) history.onCommit(commit);
  history.end(endMs);
  return resultOf('L5', state, history.checked, history.messages);
}

class DeadlineHistory {
  get checked(): number {
    return this.#judged.size;
  }
  readonly messages: string[] = [];
  /** The last value of each key of interest; what is deleted keeps its last one. */
  readonly #values = new Map<string, unknown>();
  /** Since when each replica has been at its stage, and each hold Held. */
  readonly #since = new Map<string, { readonly state: string; readonly sinceMs: number }>();
  readonly #terms = new LeadingTerms();
  /** When a node was last taken for heard of, or for silent, and when its region last said that repair is held back. */
  readonly #judgedMs = new Map<string, number>();
  readonly #brakedMs = new Map<string, number>();

  /** Stays that were judged, and those that were found too long: each counts once. */
  readonly #judged = new Set<string>();
  readonly #told = new Set<string>();

  onCommit(commit: Commit): void {
    if (commit.changes.some((change) => this.#beginsAnew(change, commit.atMs)))
      for (const [key, { state, sinceMs }] of this.#since) this.#judgeStay(key, state, sinceMs, commit.atMs);
    for (const { key, before, after } of commit.changes) {
      const place = placeOf(key);
      // What it was until now is judged on what was known until now.
      if (place?.part === 's' && (place.kind === 'Replica' || place.kind === 'Reservation'))
        this.#stayed(key, stateIn(after), commit.atMs);
      if (place?.part === 's' && place.kind === 'Node')
        for (const said of nodeStays) this.#stayed(`${key} ${said}`, nodeStateIn(after, said), commit.atMs);
      if (place?.part === 's' && place.kind === 'Node' && isHeardIn(before) !== isHeardIn(after))
        this.#judgedMs.set(place.name, commit.atMs);
      if (place?.part === 's' && place.kind === 'Region' && (isBraked(before) || isBraked(after)))
        this.#brakedMs.set(place.name, commit.atMs);
      if (after !== undefined) this.#values.set(key, after);
    }
    this.#terms.onCommit(commit);
  }

  end(endMs: number): void {
    for (const key of [...this.#since.keys()]) this.#stayed(key, undefined, endMs);
  }

  #stayed(key: string, state: string | undefined, atMs: number): void {
    const last = this.#since.get(key);
    if (last?.state === state) return;
    if (last !== undefined) this.#judgeStay(key, last.state, last.sinceMs, atMs);
    if (state === undefined) this.#since.delete(key);
    else this.#since.set(key, { state, sinceMs: atMs });
  }

  /** A node is heard of again, or taken for silent, or a brake comes on: what counts deadlines of replicas begins anew. */
  #beginsAnew({ key, before, after }: CommittedChange, atMs: number): boolean {
    const place = placeOf(key);
    if (key.startsWith('/l/node-')) {
      const name = key.slice('/l/'.length);
      const leaseMs = this.#leaseMs(name.slice('node-'.length));
      return atMs - (this.#terms.lastMs(name) ?? atMs) > leaseMs;
    }
    if (place?.part !== 's') return false;
    if (place.kind === 'Node') return isHeardIn(before) !== isHeardIn(after);
    return place.kind === 'Region' && isBraked(after) && !isBraked(before);
  }

  #judgeStay(key: string, state: string, sinceMs: number, atMs: number): void {
    for (const stay of this.#staysOf(key, state, sinceMs)) this.#judge(stay, atMs);
  }

  #judge({ what, deadlineMs, fromMs, sinceMs, lease }: Stay, atMs: number): void {
    if (atMs - fromMs < deadlineMs * (1 - driftMax)) return;
    const stay = `${what} ${deadlineMs} ${sinceMs}`;
    this.#judged.add(stay);
    const ledMs = this.#terms.heldSinceMs(lease, atMs);
    if (ledMs === undefined) return;
    const countedMs = atMs - Math.max(fromMs, sinceMs, ledMs);
    if (countedMs <= deadlineMs + slackMs || this.#told.has(stay)) return;
    this.#told.add(stay);
    this.messages.push(
      `${what} at ${shownMs(atMs)}, for ${shownMs(countedMs)} under one ${lease}; its deadline is ${shownMs(deadlineMs)}`,
    );
  }

  #staysOf(key: string, state: string, sinceMs: number): readonly Stay[] {
    const place = placeOf(key);
    if (place?.kind === 'Reservation') return this.#holdStays(key, place.tenant, state, sinceMs);
    if (place?.kind === 'Node') return this.#nodeStay(key, state, sinceMs);
    const { status } = this.#values.get(key) as Replica;
    const stored = this.#values.get(objectKey('Replica', place?.tenant, place?.name ?? '')) as
      | Replica
      | undefined;
    return status === undefined || stored === undefined
      ? []
      : this.#replicaStays({ ...stored, status }, status, sinceMs);
  }

  #holdStays(key: string, tenant: string, state: string, sinceMs: number): readonly Stay[] {
    const stored = this.#values.get(key.replace('/s/', '/o/')) as Reservation | undefined;
    if (state !== 'Held' || stored === undefined) return [];
    const { spec } = stored;
    const owner = this.#values.get(objectKey('Replica', tenant, spec.owner.name)) as Replica | undefined;
    const gang = this.#values.get(statusKey('Gang', tenant, owner?.spec.gang ?? '')) as Gang | undefined;
    // After that switch they cannot expire.
    if (spec.intent === 'Gang' && gang?.status?.state === 'Committed') return [];
    const deadlineMs = spec.deadlineSeconds * 1_000;
    return [{ what: `${key} was Held`, deadlineMs, fromMs: sinceMs, sinceMs, lease: 'collector' }];
  }

  /** The stay of a drain that goes on, or of the word of a human about a node. */
  #nodeStay(key: string, state: string, sinceMs: number): readonly Stay[] {
    const [status = '', said] = key.split(' ');
    const name = placeOf(status)?.name ?? '';
    const { attestation } = (this.#values.get(status) as Pick<Node, 'status'> | undefined)?.status ?? {};
    const drainSeconds = (this.#values.get(objectKey('Node', undefined, name)) as Node | undefined)?.spec
      .drain?.deadlineSeconds;
    const stay = (what: string, seconds: number | undefined, lease: string): readonly Stay[] =>
      seconds === undefined
        ? []
        : [{ what: `${status} ${what}`, deadlineMs: seconds * 1_000, fromMs: sinceMs, sinceMs, lease }];
    return said === 'drain'
      ? stay(`was ${state.split(' ')[0]}`, drainSeconds, 'drain')
      : stay('was attested', attestation?.forSeconds, 'repair-controller');
  }

  #replicaStays(replica: Replica, status: ReplicaStatus, sinceMs: number): readonly Stay[] {
    const { namespace, name } = replica.metadata;
    const node = status.binding?.node;
    if (node === undefined || isTerminal(status.stage)) return [];
    const revision = this.#values.get(objectKey('WorkloadRevision', namespace, replica.spec.revision)) as
      | WorkloadRevision
      | undefined;
    const { startDeadlineSeconds = startSecondsUsual, terminationGraceSeconds } =
      revision?.spec.template ?? {};
    const graceSeconds = status.intent?.graceSeconds ?? terminationGraceSeconds ?? graceSecondsUsual;
    const stay = (deadlineMs: number, fromMs = sinceMs, also = ''): Stay => ({
      ...{
        what: `${statusKey('Replica', namespace, name)} was ${status.stage} on ${node}${also}`,
        deadlineMs,
      },
      ...{ fromMs, sinceMs, lease: 'repair-controller' },
    });
    if (status.stage === 'Unknown') return this.#unknownStays(replica, status, node, stay, sinceMs);
    const own = {
      Bound: [stay(startDeadlineSeconds * 1_000)],
      Starting: [stay(startDeadlineSeconds * 1_000 + reportMs)],
      Releasing: [stay(graceSeconds * 1_000 + reportMs)],
    };
    const heardMs = this.#terms.lastMs(nodeLeaseName(node));
    const silence = heardMs === undefined ? [] : [stay(this.#leaseMs(node), heardMs)];
    return [...(own[status.stage as keyof typeof own] ?? []), ...silence];
  }

  /** Whatever its workload says, somebody is asked for in the end, unless so much is silent that repair is held back. */
  #unknownStays(
    { metadata, spec }: Replica,
    { conditions = [], intent }: ReplicaStatus,
    node: string,
    stay: (deadlineMs: number, fromMs: number, also?: string) => Stay,
    sinceMs: number,
  ): readonly Stay[] {
    const isSaid = (asked: string): boolean =>
      conditions.some(({ type, status }) => type === asked && status === 'True');
    const region =
      (this.#values.get(objectKey('Node', undefined, node)) as Node | undefined)?.spec.region ?? 'local';
    if (isBraked(this.#values.get(statusKey('Region', undefined, region)))) return [];
    const workload = this.#values.get(objectKey('Workload', metadata.namespace, spec.workload)) as
      | Workload
      | undefined;
    const revision = this.#values.get(objectKey('WorkloadRevision', metadata.namespace, spec.revision)) as
      | WorkloadRevision
      | undefined;
    const fence = (this.#values.get(fenceKey) as FenceRecord | undefined) ?? fenceContract;
    const { action, afterSeconds = 0 } = workload?.spec.onNodeLost ?? {};
    const windowMs = action === 'Wait' ? 0 : fence.windowSeconds * 1_000;
    const fromMs = Math.max(sinceMs, this.#judgedMs.get(node) ?? 0, this.#brakedMs.get(region) ?? 0);
    const mayBeReplaced = action === 'Replace' && revision?.spec.template.execution !== 'AtMostOne';
    // Where the node is heard of, repair asks the agent to stop the replica first.
    const isReplaced = isSaid('Replaceable') || isSaid('Superseded') || intent !== undefined;
    return [
      ...(mayBeReplaced && !isReplaced
        ? [stay(Math.max(afterSeconds * 1_000, answerMs), fromMs, ' and not Replaceable')]
        : []),
      ...(isSaid('NeedsHuman') ? [] : [stay(Math.max(afterSeconds * 1_000, windowMs, answerMs), fromMs)]),
    ];
  }

  #leaseMs(node: string): number {
    const lease = this.#values.get(`/l/${nodeLeaseName(node)}`) as
      | { readonly durationSeconds: number }
      | undefined;
    return (lease?.durationSeconds ?? 0) * 1_000;
  }
}

type Status = {
  readonly status?: {
    readonly stage?: string;
    readonly state?: string;
    readonly awaits?: readonly unknown[];
    readonly reachability?: string;
  };
};

// Statements about a node that have a deadline.
const nodeStays = ['drain', 'attestation'] as const;

/** Identifies the drain that goes on, or the word of a human; undefined if there is none. */
function nodeStateIn(value: unknown, said: (typeof nodeStays)[number]): string | undefined {
  const { drain, attestation } = (value as Pick<Node, 'status'> | undefined)?.status ?? {};
  if (said === 'attestation') return attestation?.operation;
  return drain?.state === 'Draining' ? `Draining since ${drain.startedAt}` : undefined;
}

const stateIn = (value: unknown): string | undefined => {
  const { status } = (value ?? {}) as Status;
  // Each victim that has ended brings a hold further: its time begins anew.
  return (
    status?.stage ?? (status?.awaits?.length ? `${status.state} for ${status.awaits.length}` : status?.state)
  );
};
const isHeardIn = (value: unknown): boolean => ((value ?? {}) as Status).status?.reachability === 'Fresh';
const isBraked = (value: unknown): boolean =>
  ((value ?? {}) as Region).status?.conditions?.some(
    ({ type, status }) => type === 'Braked' && status === 'True',
  ) === true;
