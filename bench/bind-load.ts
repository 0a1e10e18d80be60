import type { Outcome, Proposal } from '../src/model/ports.js';
import type { Store, Transaction } from '../src/store/contract.js';
import type { LmdbHandle } from '../src/store/lmdb-environment.js';
import { observedStore } from './observed-store.js';
import type { openBindCell } from './bind-cell.js';

export type BindCell = Awaited<ReturnType<typeof openBindCell>>;

// As a scheduler sends them: several batches under way, so that the next is there when one is answered.
const proposalsPerBatch = 1_000;
const batchesUnderWay = 4;

export interface BindLoad {
  readonly perSecond: number;
  readonly cpuMicrosPerBind: number;
}

/** Binds all of these, and fails unless each was committed. */
export async function bindAll(cell: BindCell, proposals: readonly Proposal[]): Promise<BindLoad> {
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < proposals.length) {
      const batch = proposals.slice(next, (next += proposalsPerBatch));
      for (const outcome of await cell.authority.bind(batch)) mustBeCommitted(outcome);
    }
  };
  const startedAt = performance.now();
  const cpuAt = process.cpuUsage();
  await Promise.all(Array.from({ length: batchesUnderWay }, sender));
  const { user, system } = process.cpuUsage(cpuAt);
  return {
    perSecond: proposals.length / ((performance.now() - startedAt) / 1_000),
    cpuMicrosPerBind: (user + system) / proposals.length,
  };
}

function mustBeCommitted(outcome: Outcome<unknown>): void {
  if (outcome.kind !== 'Committed') throw new Error(`not committed: ${JSON.stringify(outcome)}`);
}

/** Remembers what is written to a store while asked to, so that the bare machinery can be given the same. */
export class WriteRecorder {
  #transactions: Transaction[] | undefined;
  #flushes: number[] = [];

  readonly onBatch = (transactions: number): void => void this.#flushes.push(transactions);

  over(store: Store): Store {
    return observedStore(store, (transaction) => {
      if (transaction.writes.length > 0) this.#transactions?.push(transaction);
    });
  }

  start(): void {
    this.#transactions = [];
    this.#flushes = [];
  }

  /** What was written since the start: the transactions that shared each flush. */
  stop(): Written {
    const transactions = this.#transactions ?? [];
    this.#transactions = undefined;
    const flushes: Transaction[][] = [];
    let at = 0;
    for (const count of this.#flushes) flushes.push(transactions.slice(at, (at += count)));
    let puts = 0;
    let bytes = 0;
    for (const { writes } of transactions)
      for (const write of writes) {
        puts += 1;
        bytes += write.kind === 'put' ? write.value.byteLength : 0;
      }
    return { transactions: transactions.length, flushes, puts, bytes };
  }
}

export interface Written {
  readonly transactions: number;
  readonly flushes: readonly (readonly Transaction[])[];
  readonly puts: number;
  readonly bytes: number;
}

/** How long raw lmdb takes for the same puts, flushed as often. */
export function rawSeconds(raw: LmdbHandle, { flushes }: Written): number {
  const startedAt = performance.now();
  for (const transactions of flushes)
    raw.transactionSync(() => {
      for (const { writes } of transactions)
        for (const write of writes)
          if (write.kind === 'put') raw.putSync(Buffer.from(write.key), Buffer.from(write.value));
    });
  return (performance.now() - startedAt) / 1_000;
}
