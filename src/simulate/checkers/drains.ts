import { eachResource } from '../../model/amount.js';
import { type Node, shallBeEmpty } from '../../model/kinds/node.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { Since } from './since.js';
import { Terms } from './terms.js';
import { tooEarly } from './too-early.js';

/**
 * [S6] A drain that says it is complete is: nothing is charged to its node, and nothing comes until it has ended. A drain is
 * Stuck only after its whole deadline under the controller that says so.
 */
export class Drains implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  readonly #terms = new Terms();
  readonly #since = new Since();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const nodes = new Set<string>();
    const violations: Violation[] = [];
    for (const change of commit.changes) {
      const { key } = change;
      const place = placeOf(key);
      if (place?.kind === 'Node') nodes.add(place.name);
      if (key.startsWith('/a/node/')) nodes.add(key.slice('/a/node/'.length));
      if (place?.kind !== 'Node') continue;
      if (place.part === 's') violations.push(...this.#stuckTooEarly(state, place.name, change, commit.atMs));
      else this.#since.note(place.name, isDraining(change.after) ? 'draining' : undefined, commit.atMs);
    }
    this.#terms.onCommit(commit);
    return [...violations, ...[...nodes].flatMap((node) => this.#wrong(state, node))];
  }

  #stuckTooEarly(
    state: CellState,
    name: string,
    { before, after }: CommittedChange,
    atMs: number,
  ): readonly Violation[] {
    const [was, is] = [before, after].map(
      (value) => (value as Pick<Node, 'status'> | undefined)?.status?.drain,
    );
    const node = new CellView(state).object('Node', undefined, name);
    const { deadlineSeconds } = node?.spec.drain ?? {};
    const isOfNow = is?.observedGeneration === node?.metadata.generation;
    if (is?.state !== 'Stuck' || was?.state === 'Stuck' || deadlineSeconds === undefined || !isOfNow)
      return [];
    this.checked += 1;
    const began = Math.max(this.#since.ms(name, 'draining'), this.#terms.sinceMs('drain'));
    return tooEarly(`the drain of ${name} was called Stuck`, atMs - began, deadlineSeconds * 1_000).map(
      (message) => ({ rule: this.rule, revision: state.revision, message }),
    );
  }

  whole(state: CellState): readonly Violation[] {
    return [...new CellView(state).objects('Node')].flatMap(({ metadata }) =>
      this.#wrong(state, metadata.name),
    );
  }

  #wrong(state: CellState, name: string): readonly Violation[] {
    const cell = new CellView(state);
    const node = cell.object('Node', undefined, name);
    const drain = node?.status?.drain;
    // Only of the drain that there is now: one that was ended and begun again has said nothing yet.
    if (node?.spec.drain === undefined || drain?.observedGeneration !== node.metadata.generation) return [];
    this.checked += 1;
    if (drain.state !== 'Complete') return [];
    const used = [...eachResource(cell.nodeAccount(name)?.used ?? {})].filter(([, count]) => count !== 0);
    if (used.length === 0) return [];
    const message = `node ${name} says that it is drained; charged are ${used.map(([what, count]) => `${what} ${count}`).join(', ')}`;
    return [{ rule: this.rule, revision: state.revision, message }];
  }
}

const isDraining = (value: unknown): boolean => value !== undefined && shallBeEmpty(value as Node);
