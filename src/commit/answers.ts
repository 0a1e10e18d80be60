import type { Outcome } from '../model/ports.js';

/** Who waits for the answers to operations, each known by its number. */
export interface Asker {
  settle(index: number, outcome: Outcome<unknown>): void;
  fail(index: number, error: unknown): void;
}

/** Waits for one. */
export class OneAnswer<T> implements Asker {
  constructor(
    private readonly resolve: (outcome: Outcome<T>) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  settle(_index: number, outcome: Outcome<unknown>): void {
    // The committer hands back what the operation itself made.
    this.resolve(outcome as Outcome<T>);
  }

  fail(_index: number, error: unknown): void {
    this.reject(error);
  }
}

/**
 * Waits for all of those that were sent together. They may go in several transactions, of which the store may refuse
 * some: their callers are told to send them again, and the others keep their answers. If the store refused all, its
 * error is thrown. One promise for all: a batch of binds has a thousand members.
 */
export class ManyAnswers<T> implements Asker {
  readonly #outcomes: Outcome<T>[];
  #left: number;
  #refused = 0;

  constructor(
    count: number,
    private readonly resolve: (outcomes: readonly Outcome<T>[]) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.#left = count;
    this.#outcomes = Array.from({ length: count });
    if (count === 0) resolve(this.#outcomes);
  }

  settle(index: number, outcome: Outcome<unknown>): void {
    this.#outcomes[index] = outcome as Outcome<T>;
    this.#left -= 1;
    if (this.#left === 0) this.resolve(this.#outcomes);
  }

  fail(index: number, error: unknown): void {
    this.#refused += 1;
    const why = error instanceof Error ? error.message : String(error);
    if (this.#refused === this.#outcomes.length) this.reject(error);
    else this.settle(index, { kind: 'UnknownOutcome', message: `send it again: ${why}` });
  }
}
