import { eachResource } from '../../model/amount.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';

/** [S6] A drain that says it is complete is: nothing is charged to its node, and nothing comes until it has ended. */
export class Drains implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const nodes = new Set<string>();
    for (const { key } of commit.changes) {
      const place = placeOf(key);
      if (place?.kind === 'Node') nodes.add(place.name);
      if (key.startsWith('/a/node/')) nodes.add(key.slice('/a/node/'.length));
    }
    return [...nodes].flatMap((node) => this.#wrong(state, node));
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
