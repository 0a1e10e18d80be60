import { rejectedNamesMax } from '../model/kinds/decision.js';
import type { ParkReason } from './queue/cures.js';

/** What rejected nodes: a filter of ours or somebody's own. */
export interface Rejecter {
  readonly name: string;
  readonly reason: ParkReason;
}

export interface Rejected {
  readonly count: number;
  /** Some of them, the first ones of the table. */
  readonly rows: readonly number[];
}

/** How many nodes each filter rejected, with some of them: looked up only now, because most that is counted is never told. */
export function tallied(
  counts: ReadonlyMap<Rejecter, number>,
  rowCount: number,
  rejecterOf: (row: number) => Rejecter | undefined,
): ReadonlyMap<Rejecter, Rejected> {
  const found = new Map<Rejecter, { count: number; rows: number[] }>();
  let missing = 0;
  for (const [rejecter, count] of counts) {
    found.set(rejecter, { count, rows: [] });
    missing += Math.min(count, rejectedNamesMax);
  }
  for (let row = 0; row < rowCount && missing > 0; row += 1) {
    const rejecter = rejecterOf(row);
    const rows = rejecter === undefined ? undefined : found.get(rejecter)?.rows;
    if (rows === undefined || rows.length === rejectedNamesMax) continue;
    rows.push(row);
    missing -= 1;
  }
  return found;
}
