import type { CellState, Commit, CommittedChange } from '../checkers/checker.js';
import type { Write } from '../../store/contract.js';

/** The state of the store as an all-knowing observer keeps it: every key parsed, in order. */
export class CellHistory implements CellState {
  readonly #values = new Map<string, unknown>();
  #sorted: string[] | undefined;
  #revision = 0;
  commits = 0;

  get revision(): number {
    return this.#revision;
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  *under(prefix: string): Iterable<readonly [key: string, value: unknown]> {
    this.#sorted ??= [...this.#values.keys()].toSorted();
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] as string) < prefix) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < this.#sorted.length; at++) {
      const key = this.#sorted[at] as string;
      if (!key.startsWith(prefix)) return;
      yield [key, this.#values.get(key)];
    }
  }

  apply(revision: number, atMs: number, by: string, writes: readonly Write[]): Commit {
    const changes: CommittedChange[] = [];
    for (const write of writes) {
      const before = this.#values.get(write.key);
      const after: unknown =
        write.kind === 'put' ? JSON.parse(Buffer.from(write.value).toString()) : undefined;
      if (before === undefined && after === undefined) continue;
      if ((before === undefined) !== (after === undefined)) this.#sorted = undefined;
      if (after === undefined) this.#values.delete(write.key);
      else this.#values.set(write.key, after);
      changes.push({ key: write.key, before, after });
    }
    this.#revision = revision;
    this.commits += 1;
    return { revision, atMs, by, changes };
  }
}
