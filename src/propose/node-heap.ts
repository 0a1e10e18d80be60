/** Rows with their scores, and what decides between those with the same score: columns of the same length. */
export interface ScoredRows {
  readonly rows: Int32Array;
  readonly scores: Float64Array;
  /** The larger goes first; the name decides where two are the same. */
  readonly ties: Uint32Array;
}

/**
 * Rows by score, the best on top. Over typed arrays and with nothing but numbers, because every node that would do is
 * put in it for every class. The columns it is given are its own from then on.
 */
export class NodeHeap {
  constructor(
    private readonly columns: ScoredRows,
    private readonly names: readonly (string | undefined)[],
    /** How many of the first rows are in it already, in no order. */
    public size: number,
  ) {
    for (let at = (size >> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  get topRow(): number {
    return this.columns.rows[0] as number;
  }

  get topScore(): number {
    return this.columns.scores[0] as number;
  }

  get topTie(): number {
    return this.columns.ties[0] as number;
  }

  push(row: number, score: number, tie: number): void {
    let at = this.size;
    this.#put(at, row, score, tie);
    this.size += 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): void {
    this.size -= 1;
    const { rows, scores, ties } = this.columns;
    this.#put(0, rows[this.size] as number, scores[this.size] as number, ties[this.size] as number);
    this.#sink(0);
  }

  /** The row on top has another score now. */
  rescoreTop(score: number): void {
    this.columns.scores[0] = score;
    this.#sink(0);
  }

  /** The rows near the top, the first being the top: the next best are among them. */
  *near(count: number): Generator<readonly [row: number, score: number]> {
    const { rows, scores } = this.columns;
    for (let at = 0; at < this.size && at < count; at += 1) yield [rows[at] as number, scores[at] as number];
  }

  *rows(): Generator<number> {
    for (let at = 0; at < this.size; at += 1) yield this.columns.rows[at] as number;
  }

  #isBefore(a: number, b: number): boolean {
    const { rows, scores, ties } = this.columns;
    const difference = (scores[a] as number) - (scores[b] as number);
    if (difference !== 0) return difference > 0;
    const tie = (ties[a] as number) - (ties[b] as number);
    if (tie !== 0) return tie > 0;
    return (this.names[rows[a] as number] ?? '') < (this.names[rows[b] as number] ?? '');
  }

  #put(at: number, row: number, score: number, tie: number): void {
    this.columns.rows[at] = row;
    this.columns.scores[at] = score;
    this.columns.ties[at] = tie;
  }

  #swap(a: number, b: number): void {
    const { rows, scores, ties } = this.columns;
    const row = rows[a] as number;
    const score = scores[a] as number;
    const tie = ties[a] as number;
    this.#put(a, rows[b] as number, scores[b] as number, ties[b] as number);
    this.#put(b, row, score, tie);
  }

  #sink(from: number): void {
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.size) return;
      const right = left + 1;
      const child = right < this.size && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, at)) return;
      this.#swap(at, child);
      at = child;
    }
  }
}
