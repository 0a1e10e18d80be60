import type { Policy } from '../model/policy.js';
import type { Domain } from '../model/placement-rules.js';
import { affinity } from './filters/affinity.js';
import { domainFilters, nodeFilters, shapeFilters } from './filters/all.js';
import type { DomainFilter, NodeFilter, ShapeFilter, View } from './filters/filter.js';
import { freshness, isStale } from './filters/freshness.js';
import { epoch, gate } from './filters/gate.js';
import { NodeHeap } from './node-heap.js';
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
import { type DomainScore, type NodeScore, rounded } from './scores/score.js';
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
  readonly #nodeScores: readonly NodeScore[];
  readonly #domainScores: readonly DomainScore[];
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
    const counts = ({ name }: { readonly name: keyof Policy['weights'] }): boolean =>
      policy.weights[name] > 0;
    this.#nodeScores = nodeScores.filter((score) => counts(score) && score.applies(view));
    this.#domainScores = domainScores.filter((score) => counts(score) && score.applies(view));
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
        const score = heap.topScore;
        heap.pop();
        if (this.view.cls.waitsWhenStale) this.tally.add(freshness, row);
        else (group.stale ??= new NodeHeap(heap.size + 1, this.#goesFirst)).push(row, score);
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
    rows.sort((a, b) => b.total - a.total || (this.#goesFirst(a.row, b.row) ? -1 : 1));
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
      for (const score of this.#domainScores)
        add(score.name, policy.weights[score.name] * rounded(score.score(view, shape)));
    }
    for (const score of this.#nodeScores)
      add(score.name, policy.weights[score.name] * rounded(score.score(view, row, policy)));
    for (const custom of this.#customScores)
      add(custom.name, custom.weight * rounded(customScore(custom, pluginWork(view), pluginNode(view, row))));
    return { total: Object.values(parts).reduce((sum, part) => sum + part, 0), parts };
  }

  #gather(): void {
    const { nodes, cls } = this.view;
    const { shapeIds } = nodes;
    const passing = new Int32Array(nodes.nodeCount);
    const sizes = new Int32Array(Math.max(1, nodes.domains.length));
    let count = 0;
    for (let row = 0; row < nodes.rows; row += 1) {
      if (!nodes.isNode(row)) continue;
      if (!nodes.takesWork(row)) {
        this.tally.add(nodes.isEpochOpen(row) ? gate : epoch, row);
        continue;
      }
      const shapeId = shapeIds[row] as number;
      let verdict = cls.shapeVerdicts[shapeId] ?? 0;
      if (verdict === 0) verdict = judgeShape(this.view, this.policy, nodes.shapes[shapeId] as NodeShape);
      const refusing = verdict === allowed ? this.#refusing(row) : (shapeFilters[verdict - 2] as ShapeFilter);
      if (refusing !== undefined) {
        this.tally.add(refusing, row);
        continue;
      }
      passing[count] = row;
      count += 1;
      (sizes[this.#groupOf(row)] as number) += 1;
    }
    this.#group(passing, count, sizes);
  }

  #groupOf(row: number): number {
    const { cls, nodes } = this.view;
    return cls.hasDomainRules ? (nodes.shapeAt(row)?.domain ?? 0) : 0;
  }

  #group(passing: Int32Array, count: number, sizes: Int32Array): void {
    const groups: (Group | undefined)[] = [];
    for (let at = 0; at < count; at += 1) {
      const row = passing[at] as number;
      const number = this.#groupOf(row);
      let group = groups[number];
      if (group === undefined) {
        group = {
          where: this.view.nodes.domains[number] as Domain,
          fresh: new NodeHeap(sizes[number] as number, this.#goesFirst),
          stale: undefined,
          refusedBy: undefined,
          score: 0,
        };
        groups[number] = group;
        this.#groups.push(group);
      }
      group.fresh.append(row, this.#scoreOf(row));
    }
    for (const { fresh } of this.#groups) fresh.order();
  }

  #refusing(row: number): Rejecter | undefined {
    for (const filter of this.#nodeFilters) if (filter.rejects(this.view, row)) return filter;
    if (this.#customFilters.length === 0) return undefined;
    const work = pluginWork(this.view);
    const node = pluginNode(this.view, row);
    return this.#customFilters.find(({ custom }) => customRefusal(custom, work, node) !== undefined);
  }

  #scoreOf(row: number): number {
    const { view, policy } = this;
    let sum = view.cls.shapeScores[view.nodes.shapeIds[row] as number] as number;
    for (const score of this.#nodeScores)
      sum += policy.weights[score.name] * rounded(score.score(view, row, policy));
    for (const custom of this.#customScores)
      sum += custom.weight * rounded(customScore(custom, pluginWork(view), pluginNode(view, row)));
    return sum;
  }

  #judgeDomains(): void {
    const { view, policy } = this;
    if (!view.cls.hasDomainRules) return;
    for (const group of this.#groups) {
      group.refusedBy = this.#domainFilters.find((filter) => filter.rejects(view, group.where));
      group.score = 0;
      for (const score of this.#domainScores)
        group.score += policy.weights[score.name] * rounded(score.score(view, group.where));
    }
  }

  #bestOf(tier: 'fresh' | 'stale'): { readonly group: Group; readonly heap: NodeHeap } | undefined {
    let best: Group | undefined;
    let bestScore = 0;
    for (const group of this.#groups) {
      const heap = group[tier];
      if (heap === undefined || heap.size === 0 || group.refusedBy !== undefined) continue;
      const score = heap.topScore + group.score;
      if (
        best === undefined ||
        score > bestScore ||
        (score === bestScore && this.#goesFirst(heap.topRow, best[tier]?.topRow ?? 0))
      ) {
        best = group;
        bestScore = score;
      }
    }
    const heap = best?.[tier];
    return best === undefined || heap === undefined ? undefined : { group: best, heap };
  }

  /** Equal scores are common: an order that depends on the seed keeps schedulers from choosing the same node. */
  readonly #goesFirst = (a: number, b: number): boolean => {
    const { nameHashes, names } = this.view.nodes;
    const first = mixed((nameHashes[a] as number) ^ this.seed);
    const second = mixed((nameHashes[b] as number) ^ this.seed);
    return first === second ? (names[a] as string) < (names[b] as string) : first > second;
  };
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

/** Spreads 32 bits over 32 bits, so that names which differ little are not in the same order for every seed. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
