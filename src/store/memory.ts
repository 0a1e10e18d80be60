import type { Env } from '../env/env.js';
import { checkTransaction } from './check-transaction.js';
import {
  asRevision,
  type Change,
  type ChangeSet,
  type Entry,
  type KeyRange,
  type ReadOptions,
  type ReadResult,
  type Revision,
  type Store,
  type Transaction,
  type TransactOutcome,
  type Watch,
  type WatchOptions,
} from './contract.js';
import { failedGuards, stateOf } from './guards.js';
import { expired, futureRevision, storeClosed } from './history-errors.js';
import { readLimit } from './read-limit.js';
import { historySetsPerTurn, WatchHub } from './watch-hub.js';

/** A key at one revision; a deleted key has no entry. */
interface Version {
  readonly revision: Revision;
  readonly entry: Entry | undefined;
}

/** A store in this process's memory: what the simulator runs on, and the reference for the other two. */
export class MemoryStore implements Store {
  // Invariant: `#keys` is sorted and holds exactly the keys of `#versions`; each list of versions is in
  // revision order and not empty; `#log` holds the change sets after `#compacted`, in order.
  readonly #keys: string[] = [];
  readonly #versions = new Map<string, Version[]>();
  #log: ChangeSet[] = [];
  #revision = asRevision(1);
  #compacted = asRevision(0);
  #isClosed = false;
  readonly #hub: WatchHub;

  constructor(env: Env) {
    this.#hub = new WatchHub(
      {
        visibleRevision: () => this.#revision,
        compactedRevision: () => this.#compacted,
        changesAfter: (after) => Promise.resolve(this.#changesAfter(after)),
      },
      env,
    );
  }

  async read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    this.#refuseIfClosed();
    const limit = readLimit(options);
    const revision = options?.revision ?? this.#revision;
    if (revision < this.#compacted) throw expired(revision, this.#compacted);
    if (revision > this.#revision) throw futureRevision(revision, this.#revision);
    const entries: Entry[] = [];
    for (let index = this.#indexOf(range.from); index < this.#keys.length; index++) {
      const key = this.#keys[index] as string;
      if (key >= range.to) break;
      const entry = this.#entryAt(key, revision);
      if (entry === undefined) continue;
      if (entries.length === limit) return { entries, revision, more: true };
      entries.push(entry);
    }
    return { entries, revision, more: false };
  }

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    this.#refuseIfClosed();
    checkTransaction(transaction);
    const failed = failedGuards(
      transaction.guards,
      stateOf((key) => this.#current(key)),
    );
    if (failed.length > 0) return { kind: 'GuardFailed', revision: this.#revision, failed };

    const revision = asRevision(this.#revision + 1);
    const changes: Change[] = [];
    for (const write of transaction.writes) {
      const before = this.#current(write.key);
      if (write.kind === 'put') {
        const { key, value } = write;
        const entry = {
          key,
          value,
          createRevision: before?.createRevision ?? revision,
          modRevision: revision,
        };
        this.#append(key, { revision, entry });
        changes.push({ kind: 'put', entry });
      } else if (before !== undefined) {
        this.#append(write.key, { revision, entry: undefined });
        changes.push({ kind: 'delete', key: write.key });
      }
    }
    if (changes.length === 0) return { kind: 'Committed', revision: this.#revision };
    this.#revision = revision;
    const set = { revision, changes };
    this.#log.push(set);
    this.#hub.publish([set]);
    return { kind: 'Committed', revision };
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    this.#refuseIfClosed();
    return this.#hub.watch(range, options);
  }

  async compact(revision: Revision): Promise<void> {
    this.#refuseIfClosed();
    if (revision > this.#revision) throw futureRevision(revision, this.#revision);
    if (revision <= this.#compacted) return;
    this.#compacted = revision;
    this.#log = this.#log.filter((set) => set.revision > revision);
    for (const [key, versions] of this.#versions) {
      const kept = versions.findLastIndex((version) => version.revision <= revision);
      if (kept > 0) versions.splice(0, kept);
      if (versions[0]?.entry === undefined && (versions[0]?.revision ?? 0) <= revision) versions.shift();
      if (versions.length === 0) {
        this.#versions.delete(key);
        this.#keys.splice(this.#indexOf(key), 1);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#hub.endAll(storeClosed());
  }

  #changesAfter(after: Revision): { sets: readonly ChangeSet[]; upTo: Revision } {
    const start = this.#log.findIndex((set) => set.revision > after);
    const sets = start < 0 ? [] : this.#log.slice(start, start + historySetsPerTurn);
    return { sets, upTo: sets.at(-1)?.revision ?? this.#revision };
  }

  #current(key: string): Entry | undefined {
    return this.#versions.get(key)?.at(-1)?.entry;
  }

  #entryAt(key: string, revision: Revision): Entry | undefined {
    return this.#versions.get(key)?.findLast((version) => version.revision <= revision)?.entry;
  }

  #append(key: string, version: Version): void {
    const versions = this.#versions.get(key);
    if (versions !== undefined) {
      versions.push(version);
      return;
    }
    this.#versions.set(key, [version]);
    this.#keys.splice(this.#indexOf(key), 0, key);
  }

  /** Where `key` stands in `#keys`, or would stand. */
  #indexOf(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw storeClosed();
  }
}
