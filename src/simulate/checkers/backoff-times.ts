import type { Replica } from '../../model/kinds/replica.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { Terms } from './terms.js';
import { tooEarly } from './too-early.js';
import { replicaChanges } from './transitions.js';

const [firstMs, mostMs] = [1_000, 300_000];

/**
 * [S6] A slot whose replica has failed gets its next one after a second, and after twice as long for every failure in a row, up
 * to five minutes. The count of failures is in the first transition of the next replica.
 */
export class BackoffTimes implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  readonly #terms = new Terms();
  /** When and how each replica ended, by its key. */
  readonly #ends = new Map<string, { readonly stage: Stage; readonly atMs: number }>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const messages: string[] = [];
    for (const { key, tenant, name, before, after } of replicaChanges(commit)) {
      const replica = cell.object('Replica', tenant, name);
      if (before === undefined && replica !== undefined)
        messages.push(...this.#wrong(cell, replica, commit.atMs));
      if (after !== undefined && isTerminal(after.stage) && before?.stage !== after.stage)
        this.#ends.set(key, { stage: after.stage, atMs: commit.atMs });
    }
    for (const { key, after } of commit.changes) {
      const place = placeOf(key);
      if (place?.part === 's' && place.kind === 'Replica' && after === undefined) this.#ends.delete(key);
    }
    this.#terms.onCommit(commit);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #wrong(cell: CellView, { metadata, spec, status }: Replica, atMs: number): readonly string[] {
    const [first] = status?.transitions ?? [];
    // A rival that makes replicas as it likes gives another reason.
    if (first?.from !== undefined || first?.reason !== 'Replaces') return [];
    const failures = Number(first.evidence?.['failuresBefore'] ?? 0);
    const last = [...cell.incarnations(metadata.namespace ?? '', spec.workload, spec.slot)].find(
      (one) => one.spec.incarnation === spec.incarnation - 1,
    );
    const end = this.#ends.get(`/s/Replica/${metadata.namespace}/${last?.metadata.name}`);
    if (end === undefined || end.stage === 'Released' || failures === 0) return [];
    this.checked += 1;
    const began = Math.max(end.atMs, this.#terms.sinceMs('workload-controller'));
    const neededMs = Math.min(mostMs, firstMs * 2 ** (failures - 1));
    const what = `${metadata.namespace}/${metadata.name} was made after ${failures} failures in a row`;
    return tooEarly(what, atMs - began, neededMs);
  }
}
