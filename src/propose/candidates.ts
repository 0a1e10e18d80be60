import type { Policy } from '../model/policy.js';
import { ClassRanks, isSameBasis, type RankBasis } from './class-ranks.js';
import { affinity } from './filters/affinity.js';
import { domainFilters, filters, nodeFilters, shapeFilters } from './filters/all.js';
import type { DomainFilter, NodeFilter, View } from './filters/filter.js';
import { freshness, isStale } from './filters/freshness.js';
import { epoch, gate } from './filters/gate.js';
import type { NodeHeap } from './node-heap.js';
import type { NodeDomain, NodeShape } from './node-table.js';
import {
  type CustomFilter,
  customRefusal,
  type CustomScore,
  customScore,
  type Plugin,
  pluginNode,
  pluginWork,
} from './plugin.js';
import type { RankCache } from './rank-cache.js';
import type { SchedulingClass } from './scheduling-class.js';
import { domainScores, nodeScores, shapeScores } from './scores/all.js';
import { type DomainScore, type NodeScore, rounded, type Score } from './scores/score.js';
import { countPlaced } from './surroundings.js';
import { type Rejected, type Rejecter, tallied } from './tally.js';

/** The nodes of one zone, or all nodes where zones make no difference to the class. */
interface Group {
  readonly where: NodeDomain;
  refusedBy: DomainFilter | undefined;
  score: number;
}

const allowed = 1;
const epochRefuses = filters.indexOf(epoch);
const gateRefuses = filters.indexOf(gate);
const affinityRefuses = filters.indexOf(affinity);
const freshnessRefuses = filters.indexOf(freshness);

// What the loops over all nodes read is made as one literal each: objects that were spread and added to are all of
// different kinds to V8, and slow to look at.

interface NumberedFilter extends Pick<NodeFilter, 'applies' | 'rejects'> {
  /** Among all filters. */
  readonly number: number;
}

interface Weighed<T extends Score> extends Pick<Score, 'name'> {
  readonly score: T['score'];
  readonly weight: number;
}

/** A custom filter, as what rejects. */
interface Custom extends Rejecter {
  readonly custom: CustomFilter;
}

/** Past this share of all nodes that changed since the last turn of a class, to judge all of them at once is quicker. */
const changedMostOf = 4;

/**
 * The nodes that would do for a class, the best first. Every node is filtered and scored once; after a placement only
 * what it changed, the node itself and the zones; and where what was said is kept between turns, in the next turn only
 * the nodes that changed meanwhile.
 *
 * What is kept is what a node's own row says (ranks). What depends on other nodes (zones) is counted in every turn, and
 * so is what depends on time: how old a node's last word is, asked only of those that would be chosen. With custom
 * rules, and where a node must have neighbours of a kind, nothing is kept.
 */
export class Candidates {
  readonly #groups: Group[] = [];
  /** Those numbered by the ranks: all filters in their order, then the custom ones. */
  readonly #rejecters: readonly Rejecter[];
  readonly #nodeFilters: readonly NumberedFilter[];
  readonly #domainFilters: readonly DomainFilter[];
  readonly #nodeScores: readonly Weighed<NodeScore>[];
  readonly #domainScores: readonly Weighed<DomainScore>[];
  readonly #customFilters: readonly Custom[];
  readonly #customScores: readonly CustomScore[];
  readonly #mustBeTogether: boolean;
  readonly #ranks: ClassRanks;
  #best: number | undefined;

  constructor(
    private readonly view: View,
    private readonly policy: Policy,
    private readonly seed: number,
    plugins: readonly Plugin[],
    cache?: RankCache,
  ) {
    const { cls, nodes } = view;
    if (cls.judgedBy !== policy) {
      cls.judgedBy = policy;
      cls.shapeVerdicts.fill(0);
    }
    this.#nodeFilters = numberedNodeFilters.filter(({ applies }) => applies(cls));
    this.#domainFilters = domainFilters.filter((filter) => filter.applies(cls));
    this.#nodeScores = weighed(nodeScores, view, policy);
    this.#domainScores = weighed(domainScores, view, policy);
    this.#customFilters = plugins.flatMap((plugin) =>
      plugin.filters.map((custom) => ({ name: custom.name, reason: 'PluginRefused' as const, custom })),
    );
    this.#customScores = plugins.flatMap(({ scores }) => scores);
    this.#rejecters = this.#customFilters.length === 0 ? filters : [...filters, ...this.#customFilters];
    this.#mustBeTogether = affinity.applies(cls);
    const isKept = cache !== undefined && plugins.length === 0 && !this.#mustBeTogether;
    this.#ranks = isKept ? cache.take(cls.key, nodes) : new ClassRanks(nodes.capacity, nodes.names);
    this.#makeTrue();
    this.#judgeDomains();
  }

  /** The best node that will do now; undefined if none does. */
  best(): number | undefined {
    for (;;) {
      const row = (this.#best = this.#bestOf(this.#ranks.fresh) ?? this.#bestOf(this.#ranks.stale));
      if (row === undefined) return undefined;
      // Where the first of a kind may go anywhere, the second may not.
      if (this.#mustBeTogether && affinity.rejects(this.view, row)) this.#ranks.refuse(row, affinityRefuses);
      else if (!this.#ranks.isLast(row) && isStale(this.view, row)) {
        this.#ranks.aside.push(row);
        if (this.view.cls.waitsWhenStale) this.#ranks.refuse(row, freshnessRefuses);
        else this.#ranks.putLast(row);
      } else return row;
    }
  }

  /** The best node was charged with one more replica of the class. */
  taken(): void {
    const row = this.#best;
    if (row === undefined) return;
    const { cls, around, nodes } = this.view;
    const isLast = this.#ranks.isLast(row);
    this.#judge(row);
    if (isLast && this.#ranks.groupOf(row) !== undefined) this.#ranks.putLast(row);
    const shape = nodes.shapeAt(row);
    if ((!cls.hasDomainRules && !this.#mustBeTogether) || shape === undefined) return;
    countPlaced(cls, around, shape);
    this.#judgeDomains();
  }

  /** What is left and allowed, the best first. */
  rest(count: number): readonly number[] {
    const { fresh, stale } = this.#ranks;
    const rows: { readonly row: number; readonly total: number }[] = [];
    for (const [at, { refusedBy, score }] of this.#groups.entries()) {
      if (refusedBy !== undefined) continue;
      for (const heap of [fresh[at], stale[at]])
        for (const row of heap?.first(count) ?? [])
          rows.push({ row, total: this.#ranks.scoreOf(row) + score });
    }
    rows.sort((a, b) => b.total - a.total || (this.#ranks.isNamedBefore(a.row, b.row) ? -1 : 1));
    return rows.slice(0, count).map(({ row }) => row);
  }

  /** What refused nodes, as it stands now: how many, and some of them. */
  rejected(): ReadonlyMap<Rejecter, Rejected> {
    const { fresh, stale, refused } = this.#ranks;
    const counts = new Map<Rejecter, number>();
    for (const [number, rejecter] of this.#rejecters.entries()) {
      const count = refused[number] ?? 0;
      if (count > 0) counts.set(rejecter, count);
    }
    for (const [at, { refusedBy }] of this.#groups.entries()) {
      const count = (fresh[at]?.size ?? 0) + (stale[at]?.size ?? 0);
      if (refusedBy !== undefined && count > 0) counts.set(refusedBy, (counts.get(refusedBy) ?? 0) + count);
    }
    return tallied(counts, this.view.nodes.rows, (row) => {
      const number = this.#ranks.refuserOf(row);
      if (number !== undefined) return this.#rejecters[number];
      const group = this.#ranks.groupOf(row);
      return group === undefined ? undefined : this.#groups[group]?.refusedBy;
    });
  }

  /** What each score contributes for a node. */
  partsOf(row: number): { readonly total: number; readonly parts: Readonly<Record<string, number>> } {
    const { view, policy } = this;
    const parts: Record<string, number> = {};
    const add = (name: string, part: number): void => void (parts[name] = (parts[name] ?? 0) + part);
    const shape = view.nodes.shapeAt(row);
    if (shape !== undefined) {
      for (const score of shapeScores)
        if (score.applies(view))
          add(score.name, policy.weights[score.name] * rounded(score.score(view.cls, shape)));
      for (const { name, score, weight } of this.#domainScores)
        add(name, weight * rounded(score(view, shape)));
    }
    for (const { name, score, weight } of this.#nodeScores)
      add(name, weight * rounded(score(view, row, policy)));
    for (const custom of this.#customScores)
      add(custom.name, custom.weight * rounded(customScore(custom, pluginWork(view), pluginNode(view, row))));
    return { total: Object.values(parts).reduce((sum, part) => sum + part, 0), parts };
  }

  /** What the ranks say of every row is true afterwards. */
  #makeTrue(): void {
    const ranks = this.#ranks;
    const { view, policy, seed } = this;
    const { cls, nodes } = view;
    const basis: RankBasis = {
      cls,
      policy,
      seed,
      hasFailures: this.#hasFailures,
      deviceClasses: nodes.devices.length,
      rowsGivenUp: nodes.rowsGivenUp,
    };
    const rows = new Int32Array(Math.ceil(nodes.rows / changedMostOf));
    const changed = isSameBasis(ranks.basis, basis) ? nodes.changedSince(ranks.seenAt, rows) : undefined;
    if (changed === undefined) this.#gather();
    else {
      for (const row of ranks.aside.splice(0)) this.#judge(row);
      for (let at = 0; at < changed; at += 1) this.#judge(rows[at] as number);
    }
    ranks.basis = basis;
    ranks.seenAt = nodes.clock;
    if (!cls.hasDomainRules) this.#groups.push({ where: nowhere, refusedBy: undefined, score: 0 });
    else for (const where of nodes.domains) this.#groups.push({ where, refusedBy: undefined, score: 0 });
  }

  get #hasFailures(): boolean {
    return this.#nodeScores.some(({ name }) => name === 'failures');
  }

  /**
   * All nodes at once. Most nodes of a cell that packs are full or have nothing on them yet, and of those with nothing
   * on them all of one shape that offer the same are worth the same: only the first of each is judged.
   */
  #gather(): void {
    const { view } = this;
    const { nodes, cls } = view;
    const ranks = this.#ranks;
    ranks.clear();
    const isByName = this.#hasFailures || this.#customFilters.length + this.#customScores.length > 0;
    const areAlike = !isByName && cls.ports.length === 0;
    const alike = new Int32Array(nodes.shapes.length).fill(-1);
    for (let row = 0; row < nodes.rows; row += 1) {
      if (!nodes.isNode(row)) continue;
      const shapeId = nodes.shapeIds[row] as number;
      const isUntouched = areAlike && nodes.takesWork(row) && nodes.isUntouched(row);
      const other = isUntouched ? (alike[shapeId] as number) : -1;
      if (other >= 0 && nodes.offersSame(row, other)) {
        const refuser = ranks.refuserOf(other);
        if (refuser !== undefined) ranks.refuse(row, refuser);
        else ranks.append(row, ranks.groupOf(other) ?? 0, ranks.scoreOf(other), this.#tieOf(row));
        continue;
      }
      if (isUntouched && other < 0) alike[shapeId] = row;
      const refuser = this.#refusing(row, shapeId);
      if (refuser === undefined)
        ranks.append(row, this.#groupAt(shapeId), this.#scoreOf(row), this.#tieOf(row));
      else ranks.refuse(row, refuser);
    }
    ranks.order();
  }

  #judge(row: number): void {
    const { nodes } = this.view;
    if (!nodes.isNode(row)) return this.#ranks.forget(row);
    const shapeId = nodes.shapeIds[row] as number;
    const refuser = this.#refusing(row, shapeId);
    if (refuser === undefined)
      this.#ranks.admit(row, this.#groupAt(shapeId), this.#scoreOf(row), this.#tieOf(row));
    else this.#ranks.refuse(row, refuser);
  }

  #groupAt(shapeId: number): number {
    return this.view.cls.hasDomainRules ? (this.view.nodes.shapes[shapeId]?.domain ?? 0) : 0;
  }

  #tieOf(row: number): number {
    return mixed((this.view.nodes.nameHashes[row] as number) ^ this.seed);
  }

  /** The number of what refuses a node. In the order of all filters but for those of its shape, which go before. */
  #refusing(row: number, shapeId: number): number | undefined {
    const { view } = this;
    const { nodes, cls } = view;
    if (!nodes.takesWork(row)) return nodes.isEpochOpen(row) ? gateRefuses : epochRefuses;
    const verdict =
      cls.shapeVerdicts[shapeId] || judgeShape(view, this.policy, nodes.shapes[shapeId] as NodeShape);
    if (verdict !== allowed) return verdict - 2;
    for (let at = 0; at < this.#nodeFilters.length; at += 1) {
      const filter = this.#nodeFilters[at] as NumberedFilter;
      if (filter.rejects(view, row)) return filter.number;
    }
    return this.#customFilters.length === 0 ? undefined : this.#customRefusing(row);
  }

  #customRefusing(row: number): number | undefined {
    const work = pluginWork(this.view);
    const node = pluginNode(this.view, row);
    const at = this.#customFilters.findIndex(({ custom }) => customRefusal(custom, work, node) !== undefined);
    return at < 0 ? undefined : filters.length + at;
  }

  #scoreOf(row: number): number {
    const { view, policy } = this;
    let sum = view.cls.shapeScores[view.nodes.shapeIds[row] as number] as number;
    for (let at = 0; at < this.#nodeScores.length; at += 1) {
      const { score, weight } = this.#nodeScores[at] as Weighed<NodeScore>;
      sum += weight * rounded(score(view, row, policy));
    }
    return this.#customScores.length === 0 ? sum : sum + this.#customScoreOf(row);
  }

  #customScoreOf(row: number): number {
    const work = pluginWork(this.view);
    const node = pluginNode(this.view, row);
    let sum = 0;
    for (const custom of this.#customScores) sum += custom.weight * rounded(customScore(custom, work, node));
    return sum;
  }

  #judgeDomains(): void {
    const { view } = this;
    if (!view.cls.hasDomainRules) return;
    for (const group of this.#groups) {
      group.refusedBy = this.#domainFilters.find((filter) => filter.rejects(view, group.where));
      group.score = 0;
      for (const { score, weight } of this.#domainScores)
        group.score += weight * rounded(score(view, group.where));
    }
  }

  #bestOf(heaps: readonly NodeHeap[]): number | undefined {
    let best: NodeHeap | undefined;
    let bestScore = 0;
    // Arrays that were another class's may have heaps for more groups, all empty.
    for (let at = 0; at < this.#groups.length; at += 1) {
      const heap = heaps[at];
      const { refusedBy, score: ofGroup } = this.#groups[at] as Group;
      if (heap === undefined || heap.size === 0 || refusedBy !== undefined) continue;
      const score = this.#ranks.scoreOf(heap.topRow) + ofGroup;
      const isBetter =
        best === undefined ||
        score > bestScore ||
        (score === bestScore && this.#ranks.isNamedBefore(heap.topRow, best.topRow));
      if (!isBetter) continue;
      best = heap;
      bestScore = score;
    }
    return best?.topRow;
  }
}

/** What is asked of the row alone. The two of the gate are one flag of the table. */
const numberedNodeFilters = nodeFilters
  .filter((filter) => filter !== epoch && filter !== gate)
  .map((filter): NumberedFilter => ({
    applies: filter.applies,
    rejects: filter.rejects,
    number: filters.indexOf(filter),
  }));

const nowhere: NodeDomain = { region: '', zone: '', zoneKey: '' };

const weighed = <T extends Score>(scores: readonly T[], view: View, policy: Policy): readonly Weighed<T>[] =>
  scores
    .filter(({ name, applies }) => policy.weights[name] > 0 && applies(view))
    .map(({ name, score }) => ({ name, score, weight: policy.weights[name] }));

/** Whether nodes of a shape may take the class, remembered with the class. */
function judgeShape(view: View, policy: Policy, shape: NodeShape): number {
  const { cls } = view;
  if (shape.id >= cls.shapeVerdicts.length) growShapes(cls, shape.id);
  const refusing = shapeFilters.find((filter) => filter.rejects(cls, shape));
  let sum = 0;
  for (const score of shapeScores)
    if (score.applies(view)) sum += policy.weights[score.name] * rounded(score.score(cls, shape));
  cls.shapeScores[shape.id] = sum;
  return (cls.shapeVerdicts[shape.id] = refusing === undefined ? allowed : filters.indexOf(refusing) + 2);
}

function growShapes(cls: SchedulingClass, id: number): void {
  const size = 2 * (id + 1);
  const verdicts = new Uint8Array(size);
  verdicts.set(cls.shapeVerdicts);
  const scores = new Float64Array(size);
  scores.set(cls.shapeScores);
  cls.shapeVerdicts = verdicts;
  cls.shapeScores = scores;
}

/**
 * Spreads 32 bits over 32 bits, so that names which differ little are not in the same order for every seed. Equal scores
 * are common: an order that depends on the seed keeps schedulers from choosing the same node.
 */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
