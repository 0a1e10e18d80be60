import { rejectedNamesMax } from '../model/kinds/decision.js';
import type { Reason } from '../model/reasons.js';

/** What rejected nodes: a filter of ours or somebody's own. */
export interface Rejecter {
  readonly name: string;
  readonly reason: Reason;
}

interface Rejected {
  count: number;
  /** Some of them. */
  readonly rows: number[];
}

/** How many nodes each filter rejected, with some of them. */
export class Tally {
  readonly #byFilter = new Map<Rejecter, Rejected>();

  add(filter: Rejecter, row: number): void {
    let rejected = this.#byFilter.get(filter);
    if (rejected === undefined) this.#byFilter.set(filter, (rejected = { count: 0, rows: [] }));
    rejected.count += 1;
    if (rejected.rows.length < rejectedNamesMax) rejected.rows.push(row);
  }

  entries(): ReadonlyMap<Rejecter, Readonly<Rejected>> {
    return this.#byFilter;
  }
}
