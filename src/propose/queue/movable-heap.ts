/** A binary heap whose members can change their rank, or leave, wherever they stand. */
export class MovableHeap<T> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();

  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Puts it in, or where it belongs now if it is in already. */
  put(item: T): void {
    let place = this.#places.get(item);
    if (place === undefined) {
      place = this.#items.length;
      this.#items.push(item);
    }
    this.#down(item, this.#up(item, place));
  }

  remove(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#down(last, this.#up(last, place));
  }

  *[Symbol.iterator](): Generator<T> {
    yield* this.#items;
  }

  #set(item: T, place: number): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }

  #up(item: T, from: number): number {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.isBefore(item, above)) break;
      this.#set(above, place);
      place = parent;
    }
    this.#set(item, place);
    return place;
  }

  #down(item: T, from: number): void {
    const items = this.#items;
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.isBefore(items[child + 1] as T, items[child] as T)) child += 1;
      const below = items[child] as T;
      if (!this.isBefore(below, item)) break;
      this.#set(below, place);
      place = child;
    }
    this.#set(item, place);
  }
}
