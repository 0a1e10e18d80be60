import { leaseKey, type LeaseRecord, sameEpoch } from '../../model/records.js';
import type { Commit } from './checker.js';

interface Term {
  sinceMs: number;
  lastMs: number;
  durationMs: number;
}

/** Since when each lease has been held without a break, as commits show it: who leads counts deadlines from then on. */
export class LeadingTerms {
  readonly #terms = new Map<string, Term>();

  onCommit({ changes, atMs }: Commit): void {
    for (const { key, before, after } of changes) {
      if (!key.startsWith('/l/') || after === undefined) continue;
      const [was, is] = [before as LeaseRecord | undefined, after as LeaseRecord];
      const durationMs = is.durationSeconds * 1_000;
      const term = this.#terms.get(key);
      const isSame =
        was !== undefined && was.holder === is.holder && is.holder !== '' && sameEpoch(was.epoch, is.epoch);
      if (term !== undefined && isSame && atMs - term.lastMs <= term.durationMs) term.lastMs = atMs;
      else this.#terms.set(key, { sinceMs: atMs, lastMs: atMs, durationMs });
    }
  }

  /** Undefined: at that time nobody holds it. */
  heldSinceMs(lease: string, atMs: number): number | undefined {
    const term = this.#terms.get(leaseKey(lease));
    return term === undefined || atMs - term.lastMs > term.durationMs ? undefined : term.sinceMs;
  }

  /** When it was last taken or renewed; undefined: never. */
  lastMs(lease: string): number | undefined {
    return this.#terms.get(leaseKey(lease))?.lastMs;
  }
}
