/** Which of two rows with the same score goes first. */
export type GoesFirst = (a: number, b: number) => boolean;

/**
 * Rows by score, the best on top. Over typed arrays and with nothing but numbers, because every node that would do is
 * put in it for every class.
 */
export class NodeHeap {
  size = 0;
  readonly #rows: Int32Array;
  readonly #scores: Float64Array;
  readonly #goesFirst: GoesFirst;

  constructor(capacity: number, goesFirst: GoesFirst) {
    this.#rows = new Int32Array(capacity);
    this.#scores = new Float64Array(capacity);
    this.#goesFirst = goesFirst;
  }

  get topRow(): number {
    return this.#rows[0] as number;
  }

  get topScore(): number {
    return this.#scores[0] as number;
  }

  /** Adds without putting in order; `order` is called after the last one. */
  append(row: number, score: number): void {
    this.#rows[this.size] = row;
    this.#scores[this.size] = score;
    this.size += 1;
  }

  order(): void {
    for (let at = (this.size >> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  push(row: number, score: number): void {
    this.append(row, score);
    let at = this.size - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): void {
    this.size -= 1;
    this.#rows[0] = this.#rows[this.size] as number;
    this.#scores[0] = this.#scores[this.size] as number;
    this.#sink(0);
  }

  /** The row on top has another score now. */
  rescoreTop(score: number): void {
    this.#scores[0] = score;
    this.#sink(0);
  }

  /** The rows near the top, the first being the top: the next best are among them. */
  *near(count: number): Generator<readonly [row: number, score: number]> {
    for (let at = 0; at < this.size && at < count; at += 1)
      yield [this.#rows[at] as number, this.#scores[at] as number];
  }

  *rows(): Generator<number> {
    for (let at = 0; at < this.size; at += 1) yield this.#rows[at] as number;
  }

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#scores[a] as number) - (this.#scores[b] as number);
    if (difference !== 0) return difference > 0;
    return this.#goesFirst(this.#rows[a] as number, this.#rows[b] as number);
  }

  #swap(a: number, b: number): void {
    const row = this.#rows[a] as number;
    const score = this.#scores[a] as number;
    this.#rows[a] = this.#rows[b] as number;
    this.#scores[a] = this.#scores[b] as number;
    this.#rows[b] = row;
    this.#scores[b] = score;
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
