import { isDeepStrictEqual } from 'node:util';
import { fenceContract } from '../../model/fence-contract.js';
import type { ReplicaBinding } from '../../model/kinds/replica.js';
import { type FenceRecord, nodeLeaseName, sameEpoch, shownEpoch } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { stateBefore } from './before-state.js';
import { CellView } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { type Execution, ExecutionWitness } from './execution-witness.js';
import { secondCopies } from './second-copies.js';
import { shownMs } from './shown-ms.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

/**
 * [S5] A replica is bound at most once, as the one its slot names; of an AtMostOne slot at most one replica is
 * bound and has not ended, and at most one runs anywhere. What is released without its agent's word is released
 * by a fence that has expired for certain, or by an attestation.
 */
export class SingleBinding implements SafetyChecker {
  readonly rule = 'S5';
  checked = 0;
  #revision = 0;
  readonly #executions = new ExecutionWitness();
  /** When each node's lease last changed, by the clock of the world. */
  readonly #leaseChangedAtMs = new Map<string, number>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#revision = state.revision;
    const cell = new CellView(state);
    const before = new CellView(stateBefore(commit, state));
    const messages: string[] = [];
    for (const change of replicaChanges(commit)) {
      const { tenant, name, key } = change;
      const replica = cell.object('Replica', tenant, name);
      messages.push(...rebound(change));
      messages.push(...this.#releasedTooEarly(before, cell, change, commit.atMs));
      if (replica === undefined) continue;
      const { workload, slot } = replica.spec;
      const { uid } = replica.metadata;
      if (isAtMostOne(cell, tenant, replica.spec.revision)) this.#executions.expectAtMostOne(uid);
      if (change.before?.binding !== undefined || change.after?.binding === undefined) continue;
      this.checked += 1;
      const named = [before, cell].map((view) => view.slot(tenant, workload, slot)?.replicaUid);
      if (!named.includes(uid))
        messages.push(`${key} (${uid}) was bound; slot ${slot} of ${workload} names ${named[1] ?? 'nobody'}`);
      messages.push(...boundTwice(cell, tenant, workload, slot));
    }
    messages.push(...secondCopies(commit, cell));
    for (const { key, after } of commit.changes)
      if (key.startsWith('/l/') && after !== undefined) this.#leaseChangedAtMs.set(key.slice(3), commit.atMs);
    return messages.map((message) => this.#violation(message));
  }

  whole(state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const slots = new Map<string, readonly [tenant: string, workload: string, slot: string]>();
    for (const { metadata, spec } of cell.objects('Replica')) {
      const at = [metadata.namespace ?? '', spec.workload, spec.slot] as const;
      slots.set(at.join('/'), at);
    }
    return [...slots.values()]
      .flatMap((at) => boundTwice(cell, ...at))
      .map((message) => ({ ...this.#violation(message), revision: state.revision }));
  }

  expectAtMostOne(uid: string): void {
    this.#executions.expectAtMostOne(uid);
  }

  /** The world tells when an execution starts and when it has ended, wherever it is. */
  noteExecution(execution: Execution): readonly Violation[] {
    this.checked += 1;
    const messages = this.#executions.note(execution);
    return messages.map((message) => this.#violation(message));
  }

  #violation(message: string): Violation {
    return { rule: this.rule, revision: this.#revision, message };
  }

  /** The fence window is counted by the world's clock, less what the leader's own clock may be fast by. */
  #releasedTooEarly(
    before: CellView,
    cell: CellView,
    change: ReplicaChange,
    atMs: number,
  ): readonly string[] {
    const binding = change.before?.binding;
    const isReleased = (appendedTransitions(change) ?? []).some(
      (transition) => transition.to === 'Released' && actorOf(transition).kind === 'repair-controller',
    );
    if (!isReleased || binding === undefined) return [];
    const at = `${change.key} was released from node ${binding.node}, epoch ${shownEpoch(binding.nodeEpoch)}`;
    if (isUnderAttestation(before, binding) || isUnderAttestation(cell, binding)) return [];
    if (binding.isFenced !== true) return [`${at}, where it was not bound to end with its fence`];
    const epoch = cell.nodeEpoch(binding.node);
    if (epoch === undefined || !sameEpoch(epoch.epoch, binding.nodeEpoch)) return [];
    if (epoch.state === 'Open') return [`${at}, which is still Open and not attested to have stopped`];
    if (before.nodeEpoch(binding.node)?.state === 'Closed') return [];
    const { windowSeconds, driftMax } = { ...fenceContract, ...(cell.state.get('/m/fence') as FenceRecord) };
    const changedAtMs = this.#leaseChangedAtMs.get(nodeLeaseName(binding.node)) ?? Number.NEGATIVE_INFINITY;
    const leastMs = windowSeconds * 1_000 * (1 - driftMax);
    return atMs - changedAtMs >= leastMs
      ? []
      : [
          `${at}, whose lease had stood unchanged for ${shownMs(atMs - changedAtMs)}, not ${shownMs(leastMs)}`,
        ];
  }
}

function isUnderAttestation(cell: CellView, { node, nodeEpoch }: ReplicaBinding): boolean {
  const current = cell.nodeEpoch(node);
  return current?.attestation !== undefined && sameEpoch(current.epoch, nodeEpoch);
}

function isAtMostOne(cell: CellView, tenant: string, revision: string): boolean {
  return cell.object('WorkloadRevision', tenant, revision)?.spec.template.execution === 'AtMostOne';
}

function rebound({ key, before, after }: ReplicaChange): readonly string[] {
  if (before?.binding === undefined || after === undefined) return [];
  if (isDeepStrictEqual(before.binding, after.binding)) return [];
  return [`${key}: its binding changed from ${shown(before.binding)} to ${shown(after.binding)}`];
}

const shown = (value: unknown): string => JSON.stringify(value) ?? 'none';

function boundTwice(cell: CellView, tenant: string, workload: string, slot: string): readonly string[] {
  const bound = [...cell.incarnations(tenant, workload, slot)].filter(
    ({ status }) => status?.binding !== undefined && !isTerminal(status.stage),
  );
  if (bound.length < 2 || !bound.some(({ spec }) => isAtMostOne(cell, tenant, spec.revision))) return [];
  const names = bound.map(({ metadata, status }) => `${metadata.name} (${status?.stage})`);
  return [
    `slot ${slot} of AtMostOne ${tenant}/${workload} has ${bound.length} bindings: ${names.join(', ')}`,
  ];
}
