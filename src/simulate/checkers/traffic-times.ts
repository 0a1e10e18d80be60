import type { ReplicaStatus } from '../../model/kinds/replica.js';
import { CellView } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { Since } from './since.js';
import { Terms } from './terms.js';
import { tooEarly } from './too-early.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

/**
 * [S6] A replica serves only after it has been Ready for the whole `minReadySeconds` of its template. A replica that is still listed has served before, and may serve again at once.
 */
export class TrafficTimes implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  readonly #terms = new Terms();
  readonly #since = new Since();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const messages: string[] = [];
    for (const change of replicaChanges(commit)) {
      messages.push(...this.#wrong(cell, change, commit.atMs));
      this.#since.note(change.key, readyStay(change.after), commit.atMs);
    }
    this.#terms.onCommit(commit);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #wrong(cell: CellView, change: ReplicaChange, atMs: number): readonly string[] {
    const { key, tenant, name, before } = change;
    if (before?.stage !== 'Ready' || before.isListed === true) return [];
    const revision = cell.object('Replica', tenant, name)?.spec.revision ?? '';
    const { minReadySeconds = 0 } = cell.object('WorkloadRevision', tenant, revision)?.spec.template ?? {};
    return (appendedTransitions(change) ?? []).flatMap((transition) => {
      // A rival that moves replicas as it likes gives another reason.
      const isEntry = transition.to === 'Serving' && transition.reason === 'ReadyLongEnough';
      if (!isEntry || actorOf(transition).kind !== 'endpoints-controller') return [];
      this.checked += 1;
      const began = Math.max(
        this.#since.ms(key, readyStay(before) ?? ''),
        this.#terms.sinceMs('endpoints-controller'),
      );
      return tooEarly(`${key} was called Serving`, atMs - began, minReadySeconds * 1_000);
    });
  }
}

/** While a replica is Ready and its probe passes, what brought it there. */
const readyStay = (status: ReplicaStatus | undefined): string | undefined =>
  status?.stage === 'Ready' && status.readiness?.isPassing !== false
    ? (status.transitions?.at(-1)?.operation ?? '')
    : undefined;
