/** What rows are ordered by, each in a column by row that all heaps of a class share: a row is in one of them at most. */
export interface RankColumns {
  readonly scores: Float64Array;
  /** The larger goes first; the name decides where two are the same. */
  readonly ties: Uint32Array;
  /** Where in its heap a row is. Says nothing of a row that is in none. */
  readonly at: Int32Array;
  readonly names: readonly (string | undefined)[];
}

const roomFirst = 64;

/**
 * Rows by score, the best on top; any of them can be scored anew or taken out. Over typed arrays and with nothing but
 * numbers, because every node that would do is put in one for every class, and what changed there since its last turn
 * is moved. Rows are sunk and raised into a hole, which writes each row once where swapping would write it twice.
 */
export class NodeHeap {
  size = 0;
  #rows = new Int32Array(roomFirst);

  constructor(private readonly columns: RankColumns) {}

  get topRow(): number {
    return this.#rows[0] as number;
  }

  has(row: number): boolean {
    const at = this.columns.at[row] as number;
    return at < this.size && this.#rows[at] === row;
  }

  /** Many at once: what is appended is in no order until `order` is called. */
  append(row: number): void {
    if (this.size === this.#rows.length) {
      const rows = new Int32Array(2 * this.size);
      rows.set(this.#rows);
      this.#rows = rows;
    }
    this.#put(this.size, row);
    this.size += 1;
  }

  order(): void {
    for (let at = (this.size >> 1) - 1; at >= 0; at -= 1) this.#sink(at, this.#rows[at] as number);
  }

  insert(row: number): void {
    this.append(row);
    this.#raise(this.size - 1, row);
  }

  /** The row is in it, and its score is another one now. */
  rescored(row: number): void {
    const at = this.columns.at[row] as number;
    this.#raise(at, row);
    if (this.columns.at[row] === at) this.#sink(at, row);
  }

  remove(row: number): void {
    const at = this.columns.at[row] as number;
    this.size -= 1;
    if (at === this.size) return;
    const last = this.#rows[this.size] as number;
    this.#put(at, last);
    this.rescored(last);
  }

  clear(): void {
    this.size = 0;
  }

  /** So many of the best, in order. */
  first(count: number): readonly number[] {
    const found: number[] = [];
    // What could be next: the children of those found already.
    const next = this.size > 0 ? [0] : [];
    while (found.length < count && next.length > 0) {
      let best = 0;
      for (let one = 1; one < next.length; one += 1)
        if (
          this.#isBefore(
            this.#rows[next[one] as number] as number,
            this.#rows[next[best] as number] as number,
          )
        )
          best = one;
      const [at = 0] = next.splice(best, 1);
      found.push(this.#rows[at] as number);
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < this.size) next.push(child);
    }
    return found;
  }

  #isBefore(a: number, b: number): boolean {
    const { scores, ties, names } = this.columns;
    const difference = (scores[a] as number) - (scores[b] as number);
    if (difference !== 0) return difference > 0;
    const tie = (ties[a] as number) - (ties[b] as number);
    if (tie !== 0) return tie > 0;
    return (names[a] ?? '') < (names[b] ?? '');
  }

  #put(at: number, row: number): void {
    this.#rows[at] = row;
    this.columns.at[row] = at;
  }

  #raise(from: number, row: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#rows[parent] as number;
      if (!this.#isBefore(row, above)) break;
      this.#put(at, above);
      at = parent;
    }
    this.#put(at, row);
  }

  #sink(from: number, row: number): void {
    const rows = this.#rows;
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.size) break;
      const right = left + 1;
      const child =
        right < this.size && this.#isBefore(rows[right] as number, rows[left] as number) ? right : left;
      const below = rows[child] as number;
      if (!this.#isBefore(below, row)) break;
      this.#put(at, below);
      at = child;
    }
    this.#put(at, row);
  }
}
