import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import type {
  KeyRange,
  ReadOptions,
  ReadResult,
  Revision,
  Store,
  Transaction,
  TransactOutcome,
  Watch,
  WatchOptions,
} from './contract.js';

/** How a transaction ended; `Refused` is a thrown error: for certain not applied. */
export type MeasuredOutcome = TransactOutcome['kind'] | 'Refused';

/** A store that tells how long each of its transactions took, and changes nothing else. */
export class MeasuredStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly env: Env,
    private readonly onTransaction: (outcome: MeasuredOutcome, durationMs: number) => void,
  ) {}

  async transact(transaction: Transaction): Promise<TransactOutcome> {
    const startedAt = this.env.clock.monotonic();
    let outcome: MeasuredOutcome = 'Refused';
    try {
      const answer = await this.store.transact(transaction);
      outcome = answer.kind;
      return answer;
    } finally {
      this.onTransaction(outcome, msBetween(startedAt, this.env.clock.monotonic()));
    }
  }

  read(range: KeyRange, options?: ReadOptions): Promise<ReadResult> {
    return this.store.read(range, options);
  }

  watch(range: KeyRange, options: WatchOptions): Watch {
    return this.store.watch(range, options);
  }

  compact(revision: Revision): Promise<void> {
    return this.store.compact(revision);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
