import type { CellState, Commit, LivenessRule, Violation } from './checker.js';

/** What the end state does not say, as the world saw it. */
export interface LivenessFacts {
  /** Replicas of which a bind was rejected at some time. */
  readonly rejectedBinds: readonly { readonly tenant: string; readonly name: string; readonly uid: string }[];
  /** Transactions that were attempted in each window of time, and how many may be. */
  readonly windows: readonly {
    readonly fromMs: number;
    readonly toMs: number;
    readonly attempted: number;
    readonly budget: number;
  }[];
  /** Everything that was committed, and when the run ended. */
  readonly commits: readonly Commit[];
  readonly endMs: number;
  /** Nodes whose agent is up. All processes are up in the quiet window. */
  readonly upNodes: readonly string[];
  /** What was committed in the quiet window after settling, under constant inputs. */
  readonly quietCommits: readonly Commit[];
  /** The operations that the authority committed at a revision: each with its actor and reason. */
  readonly actsAt: (revision: number) => readonly string[];
}

export interface LivenessResult {
  readonly checked: number;
  readonly violations: readonly Violation[];
}

/** Judges the end state, after faults have stopped and the cell had its time to settle. */
export type LivenessCheck = (state: CellState, facts: LivenessFacts) => LivenessResult;

export function resultOf(
  rule: LivenessRule,
  state: CellState,
  checked: number,
  messages: readonly string[],
): LivenessResult {
  return { checked, violations: messages.map((message) => ({ rule, revision: state.revision, message })) };
}
