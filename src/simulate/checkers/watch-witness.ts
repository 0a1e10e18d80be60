import { isDeepStrictEqual } from 'node:util';
import type { Commit, Violation } from './checker.js';

/** One change as a watcher was told it; undefined: the key was deleted. */
export interface WatchEvent {
  readonly revision: number;
  readonly key: string;
  readonly after: unknown;
}

interface Written {
  readonly revision: number;
  readonly value: unknown;
}

/** Where a watcher stands: told everything up to `revision`, and of the next revision the keys in `partly`. */
interface Position {
  readonly revision: number;
  readonly partly: ReadonlySet<string>;
}

/**
 * [S11] Knows what was committed and is told what a watcher was given: says if a change was missed, repeated, out
 * of order or not as committed. The keys of one commit may come in any order. Keeps the whole history: a list may
 * be of any revision.
 */
export class WatchWitness {
  readonly rule = 'S11';
  checked = 0;
  readonly #history = new Map<string, Written[]>();
  /** The keys of each revision that has any in the prefix, in order. */
  readonly #revisions: { readonly revision: number; readonly keys: ReadonlySet<string> }[] = [];
  #watchers = 0;

  constructor(private readonly prefix: string) {}

  onCommit(commit: Commit): void {
    const changes = commit.changes.filter(({ key }) => key.startsWith(this.prefix));
    if (changes.length === 0) return;
    const { revision } = commit;
    this.#revisions.push({ revision, keys: new Set(changes.map(({ key }) => key)) });
    for (const { key, after } of changes)
      this.#history.set(key, [...(this.#history.get(key) ?? []), { revision, value: after }]);
  }

  /** A watcher of the prefix, which must list before its first event. */
  watcher(name = `watcher ${(this.#watchers += 1)}`): WatchedWatcher {
    return new WatchedWatcher(name, {
      valueAt: (key, revision) => this.#valueAt(key, revision),
      keys: () => this.#history.keys(),
      nextRevision: (revision) => this.#revisions[this.#indexAfter(revision)],
      violation: (revision, message) => ({ rule: this.rule, revision, message }),
      count: () => {
        this.checked += 1;
      },
    });
  }

  #valueAt(key: string, revision: number): Written | undefined {
    return this.#history.get(key)?.findLast((written) => written.revision <= revision);
  }

  /** The index of the first revision after the given one, by bisection. */
  #indexAfter(revision: number): number {
    let [low, high] = [0, this.#revisions.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#revisions[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface Truth {
  valueAt(key: string, revision: number): Written | undefined;
  keys(): Iterable<string>;
  nextRevision(
    revision: number,
  ): { readonly revision: number; readonly keys: ReadonlySet<string> } | undefined;
  violation(revision: number, message: string): Violation;
  count(): void;
}

export class WatchedWatcher {
  /** Undefined: it was told that changes may be missing, or has not listed yet. */
  #position: Position | undefined;

  constructor(
    readonly name: string,
    private readonly truth: Truth,
  ) {}

  /** It was given everything that is there at a revision. */
  listed(revision: number, entries: Iterable<readonly [key: string, value: unknown]>): readonly Violation[] {
    this.truth.count();
    const listed = new Map(entries);
    const violations: Violation[] = [];
    for (const key of new Set([...this.truth.keys(), ...listed.keys()])) {
      const expected = this.truth.valueAt(key, revision)?.value;
      if (!isDeepStrictEqual(expected, listed.get(key)))
        violations.push(
          this.#says(revision, `listed ${shown(listed.get(key))} under ${key}, not ${shown(expected)}`),
        );
    }
    this.#position = { revision, partly: new Set() };
    return violations;
  }

  delivered({ revision, key, after }: WatchEvent): readonly Violation[] {
    this.truth.count();
    const event = `the change of ${key} at ${revision}`;
    if (this.#position === undefined)
      return [this.#says(revision, `was given ${event} before it listed (again)`)];
    const written = this.truth.valueAt(key, revision);
    if (written?.revision !== revision) return [this.#says(revision, `was given ${event}, which never was`)];
    const wrong = isDeepStrictEqual(written.value, after)
      ? []
      : [this.#says(revision, `was given ${event} as ${shown(after)}, not ${shown(written.value)}`)];

    const { revision: reached, partly } = this.#position;
    const next = this.truth.nextRevision(reached);
    if (next === undefined || revision <= reached || (revision === next.revision && partly.has(key)))
      return [
        ...wrong,
        this.#says(revision, `was given ${event} again or out of order: it stood at ${reached}`),
      ];
    const missed = this.#missedBefore(revision);
    const keys = this.truth.nextRevision(revision - 1)?.keys ?? new Set();
    const given = new Set(missed.length > 0 || revision !== next.revision ? [] : partly).add(key);
    this.#position =
      given.size === keys.size ? { revision, partly: new Set() } : { revision: revision - 1, partly: given };
    return [...wrong, ...missed];
  }

  /** It was told that it has been given everything up to a revision. */
  reached(revision: number): readonly Violation[] {
    if (this.#position === undefined) return [];
    this.truth.count();
    const missed = this.#missedBefore(revision + 1);
    if (revision > this.#position.revision) this.#position = { revision, partly: new Set() };
    return missed;
  }

  /** It was told to list again. */
  gap(): void {
    this.#position = undefined;
  }

  /** What lies between where it stands and a revision without having been given. */
  #missedBefore(revision: number): readonly Violation[] {
    const violations: Violation[] = [];
    let { revision: at, partly } = this.#position ?? { revision, partly: new Set<string>() };
    for (let next = this.truth.nextRevision(at); next !== undefined && next.revision < revision;) {
      for (const key of next.keys)
        if (!partly.has(key))
          violations.push(
            this.#says(next.revision, `was never given the change of ${key} at ${next.revision}`),
          );
      at = next.revision;
      partly = new Set();
      next = this.truth.nextRevision(at);
    }
    return violations;
  }

  #says(revision: number, message: string): Violation {
    return this.truth.violation(revision, `${this.name} ${message}`);
  }
}

const shown = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
