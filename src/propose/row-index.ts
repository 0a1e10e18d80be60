/** How many of each key are on which rows, kept as differences. A count that falls to zero is not kept. */
export class RowIndex {
  readonly #rows = new Map<string, Map<number, number>>();

  /** The rows that have it, with how many. */
  rowsOf(key: string): ReadonlyMap<number, number> | undefined {
    return this.#rows.get(key);
  }

  countAt(key: string, row: number): number {
    return this.#rows.get(key)?.get(row) ?? 0;
  }

  add(key: string, row: number, more: number): void {
    let rows = this.#rows.get(key);
    if (rows === undefined) this.#rows.set(key, (rows = new Map()));
    const count = (rows.get(row) ?? 0) + more;
    if (count !== 0) rows.set(row, count);
    else rows.delete(row);
    if (rows.size === 0) this.#rows.delete(key);
  }

  /** What was counted on a row is now counted otherwise. Most changes are of one key. */
  move(
    row: number,
    before: Readonly<Record<string, number>> = nothing,
    after: Readonly<Record<string, number>> = nothing,
  ): void {
    // Keys have a slash in them, so none is a name that every object has.
    for (const key in after) {
      const more = (after[key] as number) - (before[key] ?? 0);
      if (more !== 0) this.add(key, row, more);
    }
    for (const key in before) if (after[key] === undefined) this.add(key, row, -(before[key] as number));
  }

  /** Nothing is on that row any more. */
  clear(row: number): void {
    for (const [key, rows] of this.#rows) if (rows.delete(row) && rows.size === 0) this.#rows.delete(key);
  }
}

const nothing: Readonly<Record<string, number>> = {};
