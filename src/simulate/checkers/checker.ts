/** What every checker of the simulator is given and answers. Checkers know only the model: never the authority. */

/** One key of a committed transaction, its values parsed; undefined where the key is not there. */
export interface CommittedChange {
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface Commit {
  readonly revision: number;
  readonly atMs: number;
  /** The name of the simulated process that wrote it. */
  readonly by: string;
  readonly changes: readonly CommittedChange[];
}

export interface CellState {
  readonly revision: number;
  get(key: string): unknown;
  /** Every key that starts with the prefix, in key order. */
  under(prefix: string): Iterable<readonly [key: string, value: unknown]>;
}

export type SafetyRule = 'S1' | 'S2' | 'S3' | 'S4' | 'S5' | 'S6' | 'S7' | 'S8' | 'S9' | 'S10' | 'S11' | 'S12';
export type LivenessRule = 'L1' | 'L2' | 'L3' | 'L4' | 'L5' | 'L6' | 'L7' | 'L8' | 'L9' | 'L10';

export interface Violation {
  readonly rule: SafetyRule | LivenessRule;
  readonly revision: number;
  /** Names keys and values, so that it can be followed without running the history again. */
  readonly message: string;
}

export interface SafetyChecker {
  readonly rule: SafetyRule;
  /** Looks at what one commit touched; state is after it. Every commit must be told, in order, from the first. */
  onCommit(commit: Commit, state: CellState): readonly Violation[];
  /**
   * The same from scratch, over everything that is stored. What a rule forbids to a commit rather than to a
   * state (S4) is not seen here.
   */
  whole(state: CellState): readonly Violation[];
  /** How often it had something to check: a rule that never had fails the run. */
  readonly checked: number;
}
