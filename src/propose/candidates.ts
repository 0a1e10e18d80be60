import type { Policy } from '../model/policy.js';
import type { Domain } from '../model/placement-rules.js';
import { affinity } from './filters/affinity.js';
import { domainFilters, nodeFilters, shapeFilters } from './filters/all.js';
import type { DomainFilter, NodeFilter, ShapeFilter, View } from './filters/filter.js';
import { freshness, isStale } from './filters/freshness.js';
import { epoch, gate } from './filters/gate.js';
import { NodeHeap, type ScoredRows } from './node-heap.js';
import type { NodeShape } from './node-table.js';
import {
  type CustomFilter,
  customRefusal,
  type CustomScore,
  customScore,
  type Plugin,
  pluginNode,
  pluginWork,
} from './plugin.js';
import type { SchedulingClass } from './scheduling-class.js';
import { domainScores, nodeScores, shapeScores } from './scores/all.js';
import { type DomainScore, type NodeScore, rounded, type Score } from './scores/score.js';
import { countPlaced } from './surroundings.js';
import { type Rejecter, Tally } from './tally.js';

/** The nodes of one zone, or all nodes where zones make no difference to the class. */
interface Group {
  readonly where: Domain;
  readonly fresh: NodeHeap;
  /** Heard of too long ago, for work that would rather wait for none: only when no fresh one will do. */
  stale: NodeHeap | undefined;
  refusedBy: DomainFilter | undefined;
  score: number;
}

const allowed = 1;

/** A custom filter, as what rejects. */
interface Custom extends Rejecter {
  readonly custom: CustomFilter;
}

/**
 * The nodes that would do for a class, the best first: every node is filtered and scored once, and after a placement
 * only what it changed, the node itself and the zones.
 */
export class Candidates {
  readonly tally = new Tally();
  readonly #groups: Group[] = [];
  readonly #nodeFilters: readonly NodeFilter[];
  readonly #domainFilters: readonly DomainFilter[];
  readonly #nodeScores: readonly (NodeScore & { readonly weight: number })[];
  readonly #domainScores: readonly (DomainScore & { readonly weight: number })[];
  readonly #customFilters: readonly Custom[];
  readonly #customScores: readonly CustomScore[];
  readonly #mustBeTogether: boolean;
  #best: { readonly group: Group; readonly heap: NodeHeap } | undefined;

  constructor(
    private readonly view: View,
    private readonly policy: Policy,
    private readonly seed: number,
    plugins: readonly Plugin[],
  ) {
    const { cls } = view;
    if (cls.judgedBy !== policy) {
      cls.judgedBy = policy;
      cls.shapeVerdicts.fill(0);
    }
    // The two of the gate are one flag of the table.
    this.#nodeFilters = nodeFilters.filter(
      (filter) => filter !== epoch && filter !== gate && filter.applies(cls),
    );
    this.#domainFilters = domainFilters.filter((filter) => filter.applies(cls));
    const weighed = <T extends Score>(scores: readonly T[]): (T & { readonly weight: number })[] =>
      scores
        .filter(({ name, applies }) => policy.weights[name] > 0 && applies(view))
        .map((score) => ({ ...score, weight: policy.weights[score.name] }));
    this.#nodeScores = weighed(nodeScores);
    this.#domainScores = weighed(domainScores);
    this.#customFilters = plugins.flatMap(({ filters }) =>
      filters.map((custom) => ({ name: custom.name, reason: 'PluginRefused' as const, custom })),
    );
    this.#customScores = plugins.flatMap(({ scores }) => scores);
    this.#mustBeTogether = affinity.applies(cls);
    this.#gather();
    this.#judgeDomains();
  }

  /** The best node that will do now; undefined if none does. */
  best(): number | undefined {
    for (;;) {
      this.#best = this.#bestOf('fresh') ?? this.#bestOf('stale');
      if (this.#best === undefined) return undefined;
      const { group, heap } = this.#best;
      const row = heap.topRow;
      // Where the first of a kind may go anywhere, the second may not.
      if (this.#mustBeTogether && affinity.rejects(this.view, row)) {
        heap.pop();
        this.tally.add(affinity, row);
      } else if (heap === group.fresh && isStale(this.view, row)) {
        const { topScore: score, topTie: tie } = heap;
        heap.pop();
        if (this.view.cls.waitsWhenStale) this.tally.add(freshness, row);
        else (group.stale ??= emptyHeap(heap.size + 1, this.view.nodes.names)).push(row, score, tie);
      } else return row;
    }
  }

  /** The best node was charged with one more replica of the class. */
  taken(): void {
    if (this.#best === undefined) return;
    const { heap, group } = this.#best;
    const row = heap.topRow;
    const { cls, around, nodes } = this.view;
    const filter = this.#refusing(row);
    if (filter === undefined) heap.rescoreTop(this.#scoreOf(row));
    else {
      heap.pop();
      this.tally.add(filter, row);
    }
    if (!cls.hasDomainRules && !this.#mustBeTogether) return;
    countPlaced(cls, around, nodes.shapeAt(row) ?? group.where);
    this.#judgeDomains();
  }

  /** What is left and allowed, the best of each zone first: rows with their scores. Counts those that zones refuse. */
  rest(count: number): readonly number[] {
    const rows: { readonly row: number; readonly total: number }[] = [];
    for (const { fresh, stale, refusedBy, score } of this.#groups) {
      for (const heap of stale === undefined ? [fresh] : [fresh, stale]) {
        if (refusedBy !== undefined) for (const row of heap.rows()) this.tally.add(refusedBy, row);
        else for (const [row, own] of heap.near(count)) rows.push({ row, total: own + score });
      }
    }
    rows.sort((a, b) => b.total - a.total);
    return rows.slice(0, count).map(({ row }) => row);
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

  /** Filter by filter and score by score over all nodes: each loop then does one thing, which is what makes it quick. */
  #gather(): void {
    const { view, policy } = this;
    const { nodes, cls } = view;
    const { shapeIds } = nodes;
    const rows = new Int32Array(nodes.nodeCount);
    let count = 0;
    for (let row = 0; row < nodes.rows; row += 1) {
      if (!nodes.isNode(row)) continue;
      if (!nodes.takesWork(row)) {
        this.tally.add(nodes.isEpochOpen(row) ? gate : epoch, row);
        continue;
      }
      const shapeId = shapeIds[row] as number;
      let verdict = cls.shapeVerdicts[shapeId] ?? 0;
      if (verdict === 0) verdict = judgeShape(view, policy, nodes.shapes[shapeId] as NodeShape);
      if (verdict === allowed) rows[count++] = row;
      else this.tally.add(shapeFilters[verdict - 2] as ShapeFilter, row);
    }
    for (const filter of this.#nodeFilters) {
      const { rejects } = filter;
      const before = count;
      count = 0;
      for (let at = 0; at < before; at += 1) {
        const row = rows[at] as number;
        if (rejects(view, row)) this.tally.add(filter, row);
        else rows[count++] = row;
      }
    }
    if (this.#customFilters.length > 0) {
      const before = count;
      count = 0;
      for (let at = 0; at < before; at += 1) {
        const row = rows[at] as number;
        const filter = this.#customRefusing(row);
        if (filter !== undefined) this.tally.add(filter, row);
        else rows[count++] = row;
      }
    }
    this.#group(this.#scored(rows, count), count);
  }

  #scored(rows: Int32Array, count: number): ScoredRows {
    const { view, policy, seed } = this;
    const { shapeScores: ofShapes } = view.cls;
    const { shapeIds, nameHashes } = view.nodes;
    const scores = new Float64Array(count);
    const ties = new Uint32Array(count);
    for (let at = 0; at < count; at += 1) {
      const row = rows[at] as number;
      scores[at] = ofShapes[shapeIds[row] as number] as number;
      ties[at] = mixed((nameHashes[row] as number) ^ seed);
    }
    for (const { score, weight } of this.#nodeScores)
      for (let at = 0; at < count; at += 1)
        (scores[at] as number) += weight * rounded(score(view, rows[at] as number, policy));
    if (this.#customScores.length > 0)
      for (let at = 0; at < count; at += 1) (scores[at] as number) += this.#customScoreOf(rows[at] as number);
    return { rows, scores, ties };
  }

  #group(scored: ScoredRows, count: number): void {
    const { nodes, cls } = this.view;
    if (!cls.hasDomainRules) {
      if (count > 0) this.#addGroup(nodes.domains[0] as Domain, scored, count);
      return;
    }
    const ofDomain: number[][] = [];
    for (let at = 0; at < count; at += 1)
      (ofDomain[nodes.shapeAt(scored.rows[at] as number)?.domain ?? 0] ??= []).push(at);
    for (const [domain, members] of ofDomain.entries()) {
      if (members === undefined) continue;
      const columns: ScoredRows = {
        rows: Int32Array.from(members, (at) => scored.rows[at] as number),
        scores: Float64Array.from(members, (at) => scored.scores[at] as number),
        ties: Uint32Array.from(members, (at) => scored.ties[at] as number),
      };
      this.#addGroup(nodes.domains[domain] as Domain, columns, members.length);
    }
  }

  #addGroup(where: Domain, columns: ScoredRows, count: number): void {
    const fresh = new NodeHeap(columns, this.view.nodes.names, count);
    this.#groups.push({ where, fresh, stale: undefined, refusedBy: undefined, score: 0 });
  }

  #refusing(row: number): Rejecter | undefined {
    for (const filter of this.#nodeFilters) if (filter.rejects(this.view, row)) return filter;
    return this.#customFilters.length === 0 ? undefined : this.#customRefusing(row);
  }

  #customRefusing(row: number): Rejecter | undefined {
    const work = pluginWork(this.view);
    const node = pluginNode(this.view, row);
    return this.#customFilters.find(({ custom }) => customRefusal(custom, work, node) !== undefined);
  }

  #scoreOf(row: number): number {
    const { view, policy } = this;
    let sum = view.cls.shapeScores[view.nodes.shapeIds[row] as number] as number;
    for (const { score, weight } of this.#nodeScores) sum += weight * rounded(score(view, row, policy));
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

  #bestOf(tier: 'fresh' | 'stale'): { readonly group: Group; readonly heap: NodeHeap } | undefined {
    let best: Group | undefined;
    let bestScore = 0;
    for (const group of this.#groups) {
      const heap = group[tier];
      if (heap === undefined || heap.size === 0 || group.refusedBy !== undefined) continue;
      const score = heap.topScore + group.score;
      const isBetter =
        best === undefined ||
        score > bestScore ||
        (score === bestScore && goesFirst(heap, best[tier] as NodeHeap, this.view.nodes.names));
      if (!isBetter) continue;
      best = group;
      bestScore = score;
    }
    const heap = best?.[tier];
    return best === undefined || heap === undefined ? undefined : { group: best, heap };
  }
}

const emptyHeap = (capacity: number, names: readonly (string | undefined)[]): NodeHeap =>
  new NodeHeap(
    {
      rows: new Int32Array(capacity),
      scores: new Float64Array(capacity),
      ties: new Uint32Array(capacity),
    },
    names,
    0,
  );

/** Which of two tops with the same score goes first. */
function goesFirst(a: NodeHeap, b: NodeHeap, names: readonly (string | undefined)[]): boolean {
  return a.topTie === b.topTie ? (names[a.topRow] ?? '') < (names[b.topRow] ?? '') : a.topTie > b.topTie;
}

/** Whether nodes of a shape may take the class, remembered with the class. */
function judgeShape({ cls, ...view }: View, policy: Policy, shape: NodeShape): number {
  if (shape.id >= cls.shapeVerdicts.length) growShapes(cls, shape.id);
  const refusing = shapeFilters.findIndex((filter) => filter.rejects(cls, shape));
  let sum = 0;
  for (const score of shapeScores)
    if (score.applies({ cls, ...view })) sum += policy.weights[score.name] * rounded(score.score(cls, shape));
  cls.shapeScores[shape.id] = sum;
  return (cls.shapeVerdicts[shape.id] = refusing < 0 ? allowed : refusing + 2);
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
