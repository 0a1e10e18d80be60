import { type NodeEpoch, sameEpoch } from '../../model/records.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { Since } from './since.js';
import { Terms } from './terms.js';
import { tooEarly } from './too-early.js';

/**
 * [S10] The word of a human counts for as long as the human said, unless the node registers again. L5 judges that the word is over by then.
 */
export class Attestations implements SafetyChecker {
  readonly rule = 'S10';
  checked = 0;
  readonly #terms = new Terms();
  readonly #since = new Since();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const messages: string[] = [];
    for (const change of commit.changes) {
      if (!change.key.startsWith('/e/')) continue;
      messages.push(...this.#wrong(change, commit.atMs));
      this.#since.note(
        change.key,
        (change.after as NodeEpoch | undefined)?.attestation?.operation,
        commit.atMs,
      );
    }
    this.#terms.onCommit(commit);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #wrong({ key, before, after }: CommittedChange, atMs: number): readonly string[] {
    const [was, is] = [before as NodeEpoch | undefined, after as NodeEpoch | undefined];
    if (was?.attestation === undefined || is === undefined || is.attestation !== undefined) return [];
    if (!sameEpoch(was.epoch, is.epoch)) return [];
    this.checked += 1;
    const { forSeconds, operation } = was.attestation;
    const began = Math.max(this.#since.ms(key, operation), this.#terms.sinceMs('repair-controller'));
    return tooEarly(`${key}: what a human attests was over`, atMs - began, forSeconds * 1_000);
  }
}
