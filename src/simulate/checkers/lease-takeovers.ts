import type { LeaseRecord } from '../../model/records.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { tooEarly } from './too-early.js';

/**
 * [S8] A process takes the lease of another only after the lease has stood unchanged for its whole duration. A lease
 * that was given up is free. Only processes that promise to wait are judged: rivals take what the authority lets them take.
 */
export class LeaseTakeovers implements SafetyChecker {
  readonly rule = 'S8';
  checked = 0;
  readonly #waiting = new Set<string>();
  readonly #changedAtMs = new Map<string, number>();

  /** This holder promises to wait. */
  expectWait(holder: string): void {
    this.#waiting.add(holder);
  }

  onCommit({ changes, atMs }: Commit, state: CellState): readonly Violation[] {
    const messages: string[] = [];
    for (const { key, before, after } of changes) {
      if (!key.startsWith('/l/') || after === undefined) continue;
      const [was, is] = [before as LeaseRecord | undefined, after as LeaseRecord];
      const changedAtMs = this.#changedAtMs.get(key) ?? Number.NEGATIVE_INFINITY;
      this.#changedAtMs.set(key, atMs);
      const isFree = was === undefined || was.holder === '' || was.holder === is.holder;
      if (isFree || !this.#waiting.has(is.holder)) continue;
      this.checked += 1;
      const what = `${key} was taken by ${is.holder} from ${was.holder}, which had renewed it,`;
      messages.push(...tooEarly(what, atMs - changedAtMs, was.durationSeconds * 1_000));
    }
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }
}
