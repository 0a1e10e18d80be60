import type { Leading } from '../model/ports.js';
import { SchedulerCounters } from './scheduler-counters.js';
import { type SchedulingCore, SchedulingTerm, type TermParts } from './scheduling-term.js';
import { shardLease, shardOf } from './shard.js';

export interface SchedulerParts extends Omit<TermParts, 'core' | 'lease' | 'isOwn' | 'counters'> {
  /** Who may act as the scheduler of the shard: under the lease that `shardLease` names. */
  readonly leading: Leading;
  readonly shard: number;
  readonly shards: number;
  /** A core that knows nothing yet: each term takes the cell in anew. */
  readonly newCore: () => SchedulingCore;
}

/**
 * Places what waits, of one shard, while it holds the lease of that shard. That one at a time does so is for speed and
 * fairness; several that overlap do no harm, because the authority checks everything again (S1–S5, S8).
 */
export class Scheduler {
  readonly counters = new SchedulerCounters();
  #term: SchedulingTerm | undefined;

  constructor(private readonly parts: SchedulerParts) {}

  /** What it is doing now; undefined while it does not lead. */
  get term(): SchedulingTerm | undefined {
    return this.#term;
  }

  run(signal: AbortSignal): Promise<void> {
    const { leading, shard, shards, newCore } = this.parts;
    return leading.run(async (term) => {
      this.#term = new SchedulingTerm(
        {
          ...this.parts,
          counters: this.counters,
          core: newCore(),
          lease: shardLease(shard, shards),
          isOwn: (tenant, workload) => shardOf(tenant, workload, shards) === shard,
        },
        term,
      );
      await this.#term.run().finally(() => (this.#term = undefined));
    }, signal);
  }
}
