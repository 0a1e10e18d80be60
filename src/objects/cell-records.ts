import { BerthError } from '../model/errors.js';
import type { Store } from '../store/contract.js';
import { keysUnder, singleKey } from '../store/key-range.js';

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
    const [entry] = (await this.store.read(singleKey(this.#prefix + id))).entries;
    return entry === undefined ? undefined : (JSON.parse(Buffer.from(entry.value).toString()) as T);
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
    throw new BerthError(
      'UnknownOutcome',
      `it is not known whether the change to ${write.key} was applied; look again`,
      {
        cause: outcome.cause,
      },
    );
  }
}
