/** Something that gives a count of each of several needs, at a cost. */
export interface CoverItem {
  /** What it gives of each need, in the order of the needs. */
  readonly gives: readonly number[];
  readonly weight: number;
  /** Where all else is equal the youngest go: the larger, the younger. */
  readonly born: number;
  /** Of those under one cap only so many may be taken. */
  readonly cap?: string;
}

// Enough to be exact for what is met in practice; past it the answer is still a cover without a needless item.
const stepsMax = 500;

/**
 * The fewest items that cover all needs; among those the least weight, then the youngest. Undefined if none do,
 * or none of at most `sizeMax`. Exact as far as `stepsMax` reaches. Without needs nothing is taken.
 */
export function smallestCover<T extends CoverItem>(
  items: readonly T[],
  needs: readonly number[],
  left: (cap: string) => number,
  sizeMax: number = items.length,
): readonly T[] | undefined {
  if (needs.every((need) => need <= 0)) return [];
  const least = fewestThinkable(items, needs, left);
  if (least === undefined || least > sizeMax) return undefined;
  const search = new CoverSearch(items.toSorted(byStrength(needs)), needs, left);
  for (let size = least; size <= Math.min(sizeMax, items.length); size++) {
    const found = search.ofSize(size);
    if (found !== undefined) return found;
    if (search.isSpent) return greedyCover(search.items, needs, left);
  }
  return undefined;
}

const strength = ({ gives }: CoverItem, needs: readonly number[]): number => {
  let sum = 0;
  for (const [index, need] of needs.entries()) if (need > 0) sum += Math.min(1, (gives[index] ?? 0) / need);
  return sum;
};

/** The strongest first, and those that differ by age alone beside each other, the youngest first. */
const byStrength =
  (needs: readonly number[]) =>
  (a: CoverItem, b: CoverItem): number =>
    strength(b, needs) - strength(a, needs) ||
    a.weight - b.weight ||
    compareText(a.cap ?? '', b.cap ?? '') ||
    compareText(a.gives.join(), b.gives.join()) ||
    b.born - a.born;

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const areAlike = (a: CoverItem, b: CoverItem): boolean =>
  a.weight === b.weight && a.cap === b.cap && a.gives.every((count, index) => count === b.gives[index]);

/** Need by need: how many of the largest it takes, within the caps. No cover is smaller. Undefined if all do not do. */
function fewestThinkable(
  items: readonly CoverItem[],
  needs: readonly number[],
  left: (cap: string) => number,
): number | undefined {
  let fewest = 0;
  for (const [index, need] of needs.entries()) {
    const taken = new Map<string, number>();
    let missing = need;
    let count = 0;
    for (const { gives, cap } of items.toSorted((a, b) => (b.gives[index] ?? 0) - (a.gives[index] ?? 0))) {
      if (missing <= 0) break;
      if (cap !== undefined) {
        const before = taken.get(cap) ?? 0;
        if (before >= left(cap)) continue;
        taken.set(cap, before + 1);
      }
      missing -= gives[index] ?? 0;
      count += 1;
    }
    if (missing > 0) return undefined;
    fewest = Math.max(fewest, count);
  }
  return fewest;
}

class CoverSearch<T extends CoverItem> {
  private steps = 0;
  private best: readonly T[] | undefined;
  private bestWeight = Number.POSITIVE_INFINITY;
  private bestOldest = Number.NEGATIVE_INFINITY;
  private readonly chosen: T[] = [];
  private readonly taken = new Map<string, number>();
  /** For each need, the most that one item from here on gives. */
  private readonly mostFrom: readonly Float64Array[];

  constructor(
    readonly items: readonly T[],
    private readonly needs: readonly number[],
    private readonly left: (cap: string) => number,
  ) {
    this.mostFrom = needs.map((_, need) => {
      const most = new Float64Array(items.length + 1);
      for (let index = items.length - 1; index >= 0; index--)
        most[index] = Math.max(most[index + 1] ?? 0, items[index]?.gives[need] ?? 0);
      return most;
    });
  }

  get isSpent(): boolean {
    return this.steps > stepsMax;
  }

  ofSize(size: number): readonly T[] | undefined {
    // One row for each depth, so that a step allocates nothing.
    const rows = Array.from({ length: size + 1 }, () => new Float64Array(this.needs.length));
    rows[size]?.set(this.needs);
    this.descend(0, size, rows, 0, Number.POSITIVE_INFINITY);
    return this.best;
  }

  private cannotCover(missing: Float64Array, size: number, from: number): boolean {
    for (let need = 0; need < missing.length; need++)
      if ((missing[need] ?? 0) > size * (this.mostFrom[need]?.[from] ?? 0)) return true;
    return false;
  }

  private descend(
    from: number,
    size: number,
    rows: readonly Float64Array[],
    weight: number,
    oldest: number,
  ): void {
    const missing = rows[size] as Float64Array;
    if (size === 0) {
      if (missing.some((count) => count > 0)) return;
      if (weight < this.bestWeight || (weight === this.bestWeight && oldest > this.bestOldest)) {
        this.best = [...this.chosen];
        this.bestWeight = weight;
        this.bestOldest = oldest;
      }
      return;
    }
    for (let index = from; index <= this.items.length - size && !this.isSpent; index++) {
      // Later items give no more than this, so nothing that begins later covers it either.
      if (this.cannotCover(missing, size, index)) return;
      const item = this.items[index] as T;
      const before = this.items[index - 1];
      // The younger one of two alike was left out here: with the older one it can only be worse.
      if (index > from && before !== undefined && areAlike(item, before)) continue;
      if (weight + item.weight > this.bestWeight) continue;
      const { cap } = item;
      const under = cap === undefined ? 0 : (this.taken.get(cap) ?? 0);
      if (cap !== undefined && under >= this.left(cap)) continue;
      this.steps += 1;
      if (cap !== undefined) this.taken.set(cap, under + 1);
      this.chosen.push(item);
      const after = rows[size - 1] as Float64Array;
      for (let need = 0; need < missing.length; need++)
        after[need] = (missing[need] ?? 0) - (item.gives[need] ?? 0);
      this.descend(index + 1, size - 1, rows, weight + item.weight, Math.min(oldest, item.born));
      this.chosen.pop();
      if (cap !== undefined) this.taken.set(cap, under);
    }
  }
}

/** The strongest until all is covered, then without those that turned out not to be needed, the heaviest first. */
function greedyCover<T extends CoverItem>(
  items: readonly T[],
  needs: readonly number[],
  left: (cap: string) => number,
): readonly T[] | undefined {
  const missing = [...needs];
  const taken = new Map<string, number>();
  const chosen: T[] = [];
  for (const item of items) {
    if (missing.every((count) => count <= 0)) break;
    if (!missing.some((count, need) => count > 0 && (item.gives[need] ?? 0) > 0)) continue;
    const { cap } = item;
    if (cap !== undefined && (taken.get(cap) ?? 0) >= left(cap)) continue;
    if (cap !== undefined) taken.set(cap, (taken.get(cap) ?? 0) + 1);
    chosen.push(item);
    for (const need of missing.keys()) missing[need] = (missing[need] ?? 0) - (item.gives[need] ?? 0);
  }
  if (missing.some((count) => count > 0)) return undefined;
  return chosen
    .toSorted((a, b) => b.weight - a.weight || a.born - b.born)
    .reduce<readonly T[]>((kept, item) => {
      if (missing.some((count, need) => count + (item.gives[need] ?? 0) > 0)) return kept;
      for (const need of missing.keys()) missing[need] = (missing[need] ?? 0) + (item.gives[need] ?? 0);
      return kept.filter((other) => other !== item);
    }, chosen);
}
