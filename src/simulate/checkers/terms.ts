import { type Epoch, leaseKey, type LeaseRecord, sameEpoch } from '../../model/records.js';
import type { Commit } from './checker.js';

/** When the present term of each lease began. A leader counts every duration from then at the earliest. */
export class Terms {
  readonly #terms = new Map<string, { readonly epoch: Epoch; readonly atMs: number }>();

  onCommit({ changes, atMs }: Commit): void {
    for (const { key, after } of changes) {
      if (after === undefined || !key.startsWith('/l/')) continue;
      const { epoch } = after as LeaseRecord;
      const term = this.#terms.get(key);
      if (term === undefined || !sameEpoch(term.epoch, epoch)) this.#terms.set(key, { epoch, atMs });
    }
  }

  /** Infinity if there is no term, or if the present term is not the one of this epoch. */
  sinceMs(lease: string, epoch?: Epoch): number {
    const term = this.#terms.get(leaseKey(lease));
    if (term === undefined || (epoch !== undefined && !sameEpoch(term.epoch, epoch)))
      return Number.POSITIVE_INFINITY;
    return term.atMs;
  }
}
