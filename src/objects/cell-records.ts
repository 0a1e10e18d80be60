import { BerthError } from '../model/errors.js';
import type { Guard, Revision, Store, Write } from '../store/contract.js';
import { keysUnder, singleKey } from '../store/key-range.js';

/** A record, and what it was last changed by. */
export interface Seen<T> {
  readonly record: T;
  readonly revision: Revision;
}

/** One record put, if it still is as it was seen. */
export interface CellChange {
  readonly guard: Guard;
  readonly write: Write;
}

/** Makes all of the changes at once; false if one of the records is not as it was seen, and then none. */
export async function applyChanges(store: Store, changes: readonly CellChange[]): Promise<boolean> {
  const outcome = await store.transact({
    guards: changes.map(({ guard }) => guard),
    writes: changes.map(({ write }) => write),
  });
  if (outcome.kind !== 'UnknownOutcome') return outcome.kind === 'Committed';
  const keys = changes.map(({ write }) => write.key).join(', ');
  throw new BerthError('UnknownOutcome', `it is not known whether ${keys} were changed`, {
    cause: outcome.cause,
    advice: 'look again before trying again',
  });
}

/** Records of one sort that a cell keeps for itself, under /m: not objects, so never listed or watched among them. */
export class CellRecords<T extends { readonly id: string }> {
  readonly #prefix: string;

  constructor(
    private readonly store: Store,
    sort: string,
  ) {
    this.#prefix = `/m/${sort}/`;
  }

  async list(): Promise<readonly T[]> {
    const { entries } = await this.store.read(keysUnder(this.#prefix));
    return entries.map((entry) => JSON.parse(Buffer.from(entry.value).toString()) as T);
  }

  async get(id: string): Promise<T | undefined> {
    return (await this.find(id))?.record;
  }

  async find(id: string): Promise<Seen<T> | undefined> {
    const [entry] = (await this.store.read(singleKey(this.#prefix + id))).entries;
    if (entry === undefined) return undefined;
    return { record: JSON.parse(Buffer.from(entry.value).toString()) as T, revision: entry.modRevision };
  }

  /** What puts a record that was seen so, or was not there. */
  change(record: T, seen: Seen<T> | undefined): CellChange {
    const key = this.#prefix + record.id;
    return {
      guard:
        seen === undefined ? { kind: 'absent', key } : { kind: 'unchanged', key, modRevision: seen.revision },
      write: { kind: 'put', key, value: Buffer.from(JSON.stringify(record)) },
    };
  }

  async put(record: T): Promise<void> {
    const value = Buffer.from(JSON.stringify(record));
    await this.#write({ kind: 'put', key: this.#prefix + record.id, value });
  }

  /** Whether it was there. */
  async delete(id: string): Promise<boolean> {
    const isThere = (await this.get(id)) !== undefined;
    await this.#write({ kind: 'delete', key: this.#prefix + id });
    return isThere;
  }

  async #write(write: Parameters<Store['transact']>[0]['writes'][number]): Promise<void> {
    const outcome = await this.store.transact({ guards: [], writes: [write] });
    if (outcome.kind !== 'UnknownOutcome') return;
    throw new BerthError('UnknownOutcome', `it is not known whether the change to ${write.key} was applied`, {
      cause: outcome.cause,
      advice: 'look again before trying again',
    });
  }
}
