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
import type { CellState, Commit } from './checker.js';
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
 * called Unknown or ends, so does what is on a node whose lease has expired, and what stays Unknown asks for a human.
 * Deadlines are counted by whoever leads from when it leads: of a time in which nobody did nothing can be said.
 */
export function deadlinesTakeEffect(state: CellState, { commits, endMs }: LivenessFacts): LivenessResult {
  const history = new DeadlineHistory();
  for (const commit of commits) history.onCommit(commit);
  history.end(endMs);
  return resultOf('L5', state, history.checked, history.messages);
}

class DeadlineHistory {
  checked = 0;
  readonly messages: string[] = [];
  /** The last value of each key of interest; what is deleted keeps its last one. */
  readonly #values = new Map<string, unknown>();
  /** Since when each replica has been at its stage, and each hold Held. */
  readonly #since = new Map<string, { readonly state: string; readonly sinceMs: number }>();
  readonly #terms = new LeadingTerms();
  /** When something else was last believed of a node, and when its region last said that repair is held back. */
  readonly #judgedMs = new Map<string, number>();
  readonly #brakedMs = new Map<string, number>();

  onCommit(commit: Commit): void {
    for (const { key, before, after } of commit.changes) {
      const place = placeOf(key);
      // What it was until now is judged on what was known until now.
      if (place?.part === 's' && (place.kind === 'Replica' || place.kind === 'Reservation'))
        this.#stayed(key, stateIn(after), commit.atMs);
      if (place?.part === 's' && place.kind === 'Node' && verdictIn(before) !== verdictIn(after))
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
    if (last !== undefined)
      for (const stay of this.#staysOf(key, last.state, last.sinceMs)) this.#judge(stay, atMs);
    if (state === undefined) this.#since.delete(key);
    else this.#since.set(key, { state, sinceMs: atMs });
  }

  #judge({ what, deadlineMs, fromMs, sinceMs, lease }: Stay, atMs: number): void {
    if (atMs - fromMs < deadlineMs * (1 - driftMax)) return;
    this.checked += 1;
    const ledMs = this.#terms.heldSinceMs(lease, atMs);
    if (ledMs === undefined) return;
    const countedMs = atMs - Math.max(fromMs, sinceMs, ledMs);
    if (countedMs > deadlineMs + slackMs)
      this.messages.push(
        `${what} at ${shownMs(atMs)}, for ${shownMs(countedMs)} under one ${lease}; its deadline is ${shownMs(deadlineMs)}`,
      );
  }

  #staysOf(key: string, state: string, sinceMs: number): readonly Stay[] {
    const place = placeOf(key);
    if (place?.kind === 'Reservation') return this.#holdStays(key, place.tenant, state, sinceMs);
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
    const stay = (deadlineMs: number, fromMs = sinceMs): Stay => ({
      ...{ what: `${statusKey('Replica', namespace, name)} was ${status.stage} on ${node}`, deadlineMs },
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
    { conditions = [] }: ReplicaStatus,
    node: string,
    stay: (deadlineMs: number, fromMs: number) => Stay,
    sinceMs: number,
  ): readonly Stay[] {
    if (conditions.some(({ type, status }) => type === 'NeedsHuman' && status === 'True')) return [];
    const region =
      (this.#values.get(objectKey('Node', undefined, node)) as Node | undefined)?.spec.region ?? 'local';
    if (isBraked(this.#values.get(statusKey('Region', undefined, region)))) return [];
    const workload = this.#values.get(objectKey('Workload', metadata.namespace, spec.workload)) as
      | Workload
      | undefined;
    const { windowSeconds } = (this.#values.get(fenceKey) as FenceRecord | undefined) ?? fenceContract;
    const afterSeconds = Math.max(workload?.spec.onNodeLost?.afterSeconds ?? 0, windowSeconds);
    const fromMs = Math.max(sinceMs, this.#judgedMs.get(node) ?? 0, this.#brakedMs.get(region) ?? 0);
    return [stay(afterSeconds * 1_000 + answerMs, fromMs)];
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

const stateIn = (value: unknown): string | undefined => {
  const { status } = (value ?? {}) as Status;
  // Each victim that has ended brings a hold further: its time begins anew.
  return (
    status?.stage ?? (status?.awaits?.length ? `${status.state} for ${status.awaits.length}` : status?.state)
  );
};
const verdictIn = (value: unknown): string | undefined => ((value ?? {}) as Status).status?.reachability;
const isBraked = (value: unknown): boolean =>
  ((value ?? {}) as Region).status?.conditions?.some(
    ({ type, status }) => type === 'Braked' && status === 'True',
  ) === true;
