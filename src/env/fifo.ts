// A list with fewer passed elements than this is left as it is.
const compactMin = 64;

/** First in, first out, in constant time: an array's own shift moves every element. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Puts back what was just taken. Where nothing was taken before, every element moves. */
  unshift(item: T): void {
    if (this.#head === 0) this.#items.unshift(item);
    else this.#items[--this.#head] = item;
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#head += 1;
    // At most half of the array is passed elements, so each is moved about once.
    if (this.#head >= compactMin && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let at = this.#head; at < this.#items.length; at++) yield this.#items[at] as T;
  }
}
