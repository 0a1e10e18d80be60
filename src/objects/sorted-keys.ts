/**
 * Keys in order, for lists. A key that comes or goes is only noted; the next look puts all of them in place at once.
 * So a write costs the same however many keys there are, and a look after few changes compares few keys: sorting
 * a hundred thousand of them anew would hold up everybody else for longer than a list takes.
 */
export class SortedKeys {
  #sorted: string[] = [];
  // Invariant: no key is in both, none of `#added` is in `#sorted`, all of `#gone` are.
  readonly #added = new Set<string>();
  readonly #gone = new Set<string>();

  /** The key must not be there. */
  add(key: string): void {
    if (!this.#gone.delete(key)) this.#added.add(key);
  }

  /** The key must be there. */
  delete(key: string): void {
    if (!this.#added.delete(key)) this.#gone.add(key);
  }

  /** All of them, in order. Valid until the next change. */
  get all(): readonly string[] {
    if (this.#gone.size > 0) {
      this.#sorted = this.#sorted.filter((key) => !this.#gone.has(key));
      this.#gone.clear();
    }
    if (this.#added.size > 0) {
      this.#sorted = merged(this.#sorted, [...this.#added].toSorted());
      this.#added.clear();
    }
    return this.#sorted;
  }

  /** Where keys that begin with `prefix` start and end among all. */
  range(prefix: string): { readonly from: number; readonly to: number } {
    const { all } = this;
    return { from: firstAtOrAfter(all, prefix), to: firstAtOrAfter(all, `${prefix}\uffff`) };
  }
}

function merged(sorted: readonly string[], added: readonly string[]): string[] {
  const result: string[] = [];
  let at = 0;
  for (const key of added) {
    const next = firstAtOrAfter(sorted, key, at);
    for (; at < next; at++) result.push(sorted[at] as string);
    result.push(key);
  }
  for (; at < sorted.length; at++) result.push(sorted[at] as string);
  return result;
}

function firstAtOrAfter(sorted: readonly string[], wanted: string, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as string) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
