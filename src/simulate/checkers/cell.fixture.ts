import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';

/** Writes of one transaction in the making; undefined deletes. */
export class Draft {
  readonly writes = new Map<string, unknown>();

  constructor(private readonly state: CellState) {}

  get(key: string): unknown {
    return this.writes.has(key) ? this.writes.get(key) : this.state.get(key);
  }

  put(key: string, value: unknown): void {
    this.writes.set(key, value);
  }

  /** Changes what is there by a function of it. */
  change<T>(key: string, change: (value: T) => T): void {
    const value = this.get(key) as T | undefined;
    if (value === undefined) throw new Error(`nothing stands under ${key}`);
    this.put(key, change(value));
  }
}

/** A cell in memory that tells checkers each commit, and keeps what they said. */
export class TestCell implements CellState {
  revision = 0;
  nowMs = 0;
  readonly violations: Violation[] = [];
  readonly commits: Commit[] = [];
  readonly #values = new Map<string, unknown>();
  #alterations: ((draft: Draft) => void)[] = [];

  constructor(readonly checkers: readonly SafetyChecker[] = []) {}

  get(key: string): unknown {
    return this.#values.get(key);
  }

  *under(prefix: string): Generator<readonly [string, unknown]> {
    for (const key of [...this.#values.keys()].filter((one) => one.startsWith(prefix)).toSorted())
      yield [key, this.#values.get(key)];
  }

  /** Alters the next transaction before it is committed, as a broken authority would. */
  altering(alter: (draft: Draft) => void): this {
    this.#alterations.push(alter);
    return this;
  }

  transact(by: string, write: (draft: Draft) => void): Commit {
    const draft = new Draft(this);
    write(draft);
    for (const alter of this.#alterations.splice(0)) alter(draft);
    this.revision += 1;
    this.nowMs += 1_000;
    const changes = [...draft.writes].map(([key, after]) => ({ key, before: this.#values.get(key), after }));
    for (const { key, after } of changes)
      if (after === undefined) this.#values.delete(key);
      else this.#values.set(key, after);
    const commit = { revision: this.revision, atMs: this.nowMs, by, changes };
    this.commits.push(commit);
    for (const checker of this.checkers) this.violations.push(...checker.onCommit(commit, this));
    return commit;
  }

  /** What the checkers find from scratch. */
  whole(): readonly Violation[] {
    return this.checkers.flatMap((checker) => checker.whole(this));
  }

  get messages(): readonly string[] {
    return this.violations.map(({ message }) => message);
  }
}
