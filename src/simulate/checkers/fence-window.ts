import { fenceContract } from '../../model/fence-contract.js';
import { type FenceRecord, fenceKey, type StoredFence } from '../../model/records.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { Since } from './since.js';
import { tooEarly } from './too-early.js';

/** [S5] The fence window is lowered only after the window that stands has passed since it was asked for. */
export class FenceWindow implements SafetyChecker {
  readonly rule = 'S5';
  checked = 0;
  readonly #since = new Since();

  onCommit({ changes, atMs }: Commit, state: CellState): readonly Violation[] {
    const messages: string[] = [];
    for (const { key, before, after } of changes) {
      if (key !== fenceKey) continue;
      // A parsed boundary: only the authority writes this record.
      const [was, is] = [(before ?? fenceContract) as FenceRecord, after as StoredFence];
      this.checked += 1;
      if (is.windowSeconds < was.windowSeconds) {
        const what = `the fence window was lowered from ${was.windowSeconds} s to ${is.windowSeconds} s`;
        messages.push(...tooEarly(what, atMs - this.#since.ms(key, is.operation), was.windowSeconds * 1_000));
      }
      this.#since.note(key, is.windowSecondsNext === undefined ? undefined : is.operation, atMs);
    }
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }
}
