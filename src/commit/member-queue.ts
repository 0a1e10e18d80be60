// Taken slots at the front are given back when there are this many, and they are the greater part.
const compactAt = 1_024;

/**
 * First in, first out, with a way back to the front for those that have to be decided again. Taking one costs the
 * same however many wait.
 */
export class MemberQueue<T> {
  // Those that came back, last first, so that taking one is a pop.
  readonly #returned: T[] = [];
  #waiting: (T | undefined)[] = [];
  #taken = 0;

  get length(): number {
    return this.#returned.length + this.#waiting.length - this.#taken;
  }

  get first(): T | undefined {
    return this.#returned.at(-1) ?? this.#waiting[this.#taken];
  }

  push(one: T): void {
    this.#waiting.push(one);
  }

  /** Before all others, in the order given. */
  putFirst(list: readonly T[]): void {
    for (let at = list.length - 1; at >= 0; at--) this.#returned.push(list[at] as T);
  }

  takeFirst(): void {
    if (this.#returned.pop() !== undefined) return;
    this.#waiting[this.#taken] = undefined;
    this.#taken += 1;
    if (this.#taken < compactAt || this.#taken * 2 < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#taken);
    this.#taken = 0;
  }
}
