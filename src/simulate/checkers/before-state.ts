import type { CellState, Commit } from './checker.js';

/**
 * The cell as it was before a commit. One transaction may carry several operations, decided one after the other:
 * what one of them relied on may be as it was before another of them changed it.
 */
export function stateBefore(commit: Commit, after: CellState): CellState {
  const changed = new Map(commit.changes.map(({ key, before }) => [key, before]));
  return {
    revision: commit.revision - 1,
    get: (key) => (changed.has(key) ? changed.get(key) : after.get(key)),
    *under(prefix) {
      const entries = new Map(after.under(prefix));
      for (const [key, before] of changed) {
        if (!key.startsWith(prefix)) continue;
        if (before === undefined) entries.delete(key);
        else entries.set(key, before);
      }
      yield* [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1));
    },
  };
}
