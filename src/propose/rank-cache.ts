import { ClassRanks } from './class-ranks.js';
import type { ClassKey } from './contract.js';
import type { NodeTable } from './node-table.js';

/**
 * Past this the ranks of the class whose turn was longest ago are made anew for another class, in the same arrays. With
 * 10,000 nodes that is 64 × 16,384 rows × 24 bytes: 25 MB at most.
 */
const classesMost = 64;

/** What was said of the nodes, kept between the turns of a class: a turn then looks only at what changed. */
export class RankCache {
  /** The class whose turn was longest ago is first. */
  readonly #byClass = new Map<ClassKey, ClassRanks>();

  constructor(private readonly classesMax = classesMost) {}

  /** The ranks of a class, or some to make them in: their basis says which. */
  take(key: ClassKey, { capacity, names }: NodeTable): ClassRanks {
    let from = this.#byClass.has(key) ? key : undefined;
    if (from === undefined && this.#byClass.size >= this.classesMax) [from] = this.#byClass.keys();
    let ranks = from === undefined ? undefined : this.#byClass.get(from);
    if (from !== undefined) this.#byClass.delete(from);
    if (ranks === undefined || ranks.capacity < capacity) ranks = new ClassRanks(capacity, names);
    this.#byClass.set(key, ranks);
    return ranks;
  }
}
