import type { Policy } from '../model/policy.js';
import { NodeHeap, type RankColumns } from './node-heap.js';
import type { SchedulingClass } from './scheduling-class.js';

/** What ranks were made from, besides the rows: while all of it is the same, only rows that changed are judged again. */
export interface RankBasis {
  readonly cls: SchedulingClass;
  readonly policy: Policy;
  readonly seed: number;
  /** Whether failures count for this class, and how many classes of devices there are: both add scores to all nodes. */
  readonly hasFailures: boolean;
  readonly deviceClasses: number;
  /** How often a row was given to another node, and the order of names with it. */
  readonly rowsGivenUp: number;
}

export const isSameBasis = (a: RankBasis | undefined, b: RankBasis): boolean =>
  a !== undefined &&
  a.cls === b.cls &&
  a.policy === b.policy &&
  a.seed === b.seed &&
  a.hasFailures === b.hasFailures &&
  a.deviceClasses === b.deviceClasses &&
  a.rowsGivenUp === b.rowsGivenUp;

/**
 * What was said of every node for one class: refused, and by what, or the score it has; those that will do in order, by
 * zone where zones matter. Four columns by row and the heaps: 24 bytes for a class and node.
 *
 * Invariant: a row that will do is in the heap of its group, or in that of the stale ones beside it; no other row is in
 * any. `aside` has all rows about which the last turn noted what will not be true in the next: how old they were.
 */
export class ClassRanks {
  basis: RankBasis | undefined;
  /** The clock of the node table that it was last made true at. */
  seenAt = 0;
  readonly fresh: NodeHeap[] = [];
  readonly stale: NodeHeap[] = [];
  readonly aside: number[] = [];
  /** How many rows each rejecter refused, by its number. */
  readonly refused: number[] = [];
  readonly #columns: RankColumns;
  /** By row: 0 nothing is known; n > 0 it will do, in group n - 1; n < 0 refused by rejecter -n - 1. */
  readonly #places: Int32Array;

  constructor(
    readonly capacity: number,
    names: RankColumns['names'],
  ) {
    this.#places = new Int32Array(capacity);
    this.#columns = {
      scores: new Float64Array(capacity),
      ties: new Uint32Array(capacity),
      at: new Int32Array(capacity),
      names,
    };
  }

  clear(): void {
    this.#places.fill(0);
    for (const heap of this.fresh) heap.clear();
    for (const heap of this.stale) heap.clear();
    this.aside.length = 0;
    this.refused.length = 0;
  }

  /** The group that a row is in; undefined if it will not do. */
  groupOf(row: number): number | undefined {
    const place = this.#places[row] as number;
    return place > 0 ? place - 1 : undefined;
  }

  /** The number of what refused a row; undefined if it will do, or nothing is known. */
  refuserOf(row: number): number | undefined {
    const place = this.#places[row] as number;
    return place < 0 ? -place - 1 : undefined;
  }

  scoreOf(row: number): number {
    return this.#columns.scores[row] as number;
  }

  /** Which of two rows with the same score goes first. */
  isNamedBefore(a: number, b: number): boolean {
    const { ties, names } = this.#columns;
    return ties[a] === ties[b]
      ? (names[a] ?? '') < (names[b] ?? '')
      : (ties[a] as number) > (ties[b] as number);
  }

  /** Of a row of which nothing is known yet: in no order until `order` is called. */
  append(row: number, group: number, score: number, tie: number): void {
    this.#set(row, group, score, tie);
    this.#heap(this.fresh, group).append(row);
  }

  order(): void {
    for (const heap of this.fresh) heap.order();
  }

  admit(row: number, group: number, score: number, tie: number): void {
    const heap = this.#heap(this.fresh, group);
    if (this.groupOf(row) === group && heap.has(row)) {
      this.#columns.scores[row] = score;
      heap.rescored(row);
      return;
    }
    this.forget(row);
    this.#set(row, group, score, tie);
    heap.insert(row);
  }

  refuse(row: number, rejecter: number): void {
    this.forget(row);
    this.#places[row] = -rejecter - 1;
    this.refused[rejecter] = (this.refused[rejecter] ?? 0) + 1;
  }

  /** It would do, but comes after all of its group that are fresh. */
  putLast(row: number): void {
    const group = this.groupOf(row) ?? 0;
    this.fresh[group]?.remove(row);
    this.#heap(this.stale, group).insert(row);
  }

  isLast(row: number): boolean {
    return this.stale[this.groupOf(row) ?? 0]?.has(row) === true;
  }

  /** Nothing is known of a row any more. */
  forget(row: number): void {
    const place = this.#places[row] as number;
    this.#places[row] = 0;
    if (place < 0) (this.refused[-place - 1] as number) -= 1;
    else if (place > 0) {
      const [fresh, stale] = [this.fresh[place - 1], this.stale[place - 1]];
      if (fresh?.has(row) === true) fresh.remove(row);
      else stale?.remove(row);
    }
  }

  #set(row: number, group: number, score: number, tie: number): void {
    this.#places[row] = group + 1;
    this.#columns.scores[row] = score;
    this.#columns.ties[row] = tie;
  }

  #heap(heaps: NodeHeap[], group: number): NodeHeap {
    while (heaps.length <= group) heaps.push(new NodeHeap(this.#columns));
    return heaps[group] as NodeHeap;
  }
}
