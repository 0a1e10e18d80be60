import { fenceContract } from '../../model/fence-contract.js';
import type { Replica, ReplicaStatus, ReplicaTransition } from '../../model/kinds/replica.js';
import { nodeLeaseName } from '../../model/records.js';
import { CellView } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { LeaseChanges } from './lease-changes.js';
import { Since } from './since.js';
import { Terms } from './terms.js';
import { tooEarly } from './too-early.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

/** How late a report may be before repair draws conclusions, and how long an agent that is back is left to answer. */
const [reportMs, answerMs] = [30_000, 60_000];
const [startSecondsUsual, graceSecondsUsual] = [300, 8];

/**
 * [S6] Repair draws a conclusion from a duration only after the whole duration: it calls a replica Unknown that is Bound,
 * Starting or Releasing for too long, asks an agent to stop what the agent says nothing about, and asks for a human. Repair counts from the moment when the replica came to its stage, or from the start of its own term if that is later.
 */
export class RepairTimes implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  readonly #terms = new Terms();
  readonly #leases = new LeaseChanges();
  readonly #since = new Since();
  /** Since when each node has renewed its lease without a gap of a whole lease. */
  readonly #heardSinceMs = new Map<string, number>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const messages: string[] = [];
    for (const change of replicaChanges(commit)) {
      const replica = cell.object('Replica', change.tenant, change.name);
      if (replica !== undefined) messages.push(...this.#wrong(cell, replica, change, commit.atMs));
      this.#since.note(change.key, stayOf(change.after), commit.atMs);
    }
    this.#noteLeases(commit, cell);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #noteLeases(commit: Commit, cell: CellView): void {
    for (const { key, after } of commit.changes) {
      if (after === undefined || !key.startsWith('/l/node-')) continue;
      const name = key.slice('/l/'.length);
      const leaseMs = (cell.lease(name)?.durationSeconds ?? 0) * 1_000;
      const isGap = !(commit.atMs - this.#leases.lastMs(name) <= leaseMs);
      if (isGap || !this.#heardSinceMs.has(name)) this.#heardSinceMs.set(name, commit.atMs);
    }
    this.#leases.onCommit(commit);
    this.#terms.onCommit(commit);
  }

  #wrong(cell: CellView, replica: Replica, change: ReplicaChange, atMs: number): readonly string[] {
    const { key, before, after } = change;
    const node = before?.binding?.node;
    if (before === undefined || after === undefined || node === undefined) return [];
    const term = this.#terms.sinceMs('repair-controller');
    const inStage = Math.max(this.#since.ms(key, stayOf(before) ?? ''), term);
    const heard = Math.max(inStage, this.#heardSinceMs.get(nodeLeaseName(node)) ?? 0);
    const messages: string[] = [];
    const judge = (what: string, sinceMs: number, neededMs: number): void => {
      this.checked += 1;
      messages.push(...tooEarly(`${key} ${what}`, atMs - sinceMs, neededMs));
    };
    for (const transition of appendedTransitions(change) ?? []) {
      const neededMs = stageMs(cell, replica, before, transition);
      if (neededMs !== undefined) judge(`was called Unknown (${transition.reason})`, inStage, neededMs);
    }
    if (before.intent === undefined && after.intent?.reason === 'NoReport')
      judge('was asked to stop because nothing was reported', heard, answerMs);
    const asked = needsHuman(after);
    if (asked === undefined || needsHuman(before) !== undefined) return messages;
    const silent = Math.max(term, this.#leases.seenMs(nodeLeaseName(node), atMs));
    const lost = lostRule(cell, replica, node);
    if (asked === 'NodeSilent') judge('asked for a human', silent, Math.max(lost.afterMs, lost.leastMs));
    if (asked === 'StopNotReported') judge('asked for a human', heard, lost.afterMs);
    return messages;
  }
}

/** Identifies one stay at one stage. */
const stayOf = (status: ReplicaStatus | undefined): string | undefined =>
  status && `${status.stage} ${status.transitions?.at(-1)?.operation ?? ''}`;

const needsHuman = (status: ReplicaStatus): string | undefined =>
  status.conditions?.find(({ type, status: is }) => type === 'NeedsHuman' && is === 'True')?.reason;

/** How long a replica may be at its stage before repair calls it Unknown for that; undefined: for another reason. */
function stageMs(
  cell: CellView,
  { metadata, spec }: Replica,
  before: ReplicaStatus,
  transition: ReplicaTransition,
): number | undefined {
  if (transition.to !== 'Unknown' || actorOf(transition).kind !== 'repair-controller') return undefined;
  const { startDeadlineSeconds = startSecondsUsual, terminationGraceSeconds } =
    cell.object('WorkloadRevision', metadata.namespace, spec.revision)?.spec.template ?? {};
  const graceSeconds = before.intent?.graceSeconds ?? terminationGraceSeconds ?? graceSecondsUsual;
  switch (transition.reason) {
    case 'StartDeadlinePassed':
      return startDeadlineSeconds * 1_000;
    case 'StartOverdue':
      return startDeadlineSeconds * 1_000 + reportMs;
    case 'StopOverdue':
      return graceSeconds * 1_000 + reportMs;
    default:
      return undefined;
  }
}

/** How long its workload waits for a lost replica, and how long its node is silent at the least before a human is asked for. */
function lostRule(
  cell: CellView,
  { metadata, spec }: Replica,
  node: string,
): { readonly afterMs: number; readonly leastMs: number } {
  const workload = cell.object('Workload', metadata.namespace, spec.workload);
  const { action, afterSeconds = 0 } = workload?.spec.onNodeLost ?? {};
  const leaseSeconds = cell.lease(nodeLeaseName(node))?.durationSeconds ?? 0;
  const leastSeconds = action === 'Replace' ? fenceContract.windowSeconds : leaseSeconds;
  return { afterMs: afterSeconds * 1_000, leastMs: leastSeconds * 1_000 };
}
