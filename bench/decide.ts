import { builtinPolicy } from '../src/model/policy.js';
import { nodeAccountKey } from '../src/model/records.js';
import type { Turn } from '../src/propose/contract.js';
import { propose } from '../src/propose/propose.js';
import { RankCache } from '../src/propose/rank-cache.js';
import { replayDecision } from '../src/propose/replay-decision.js';
import { DecideCell, gibi } from './decide-cell.js';
import { mixOf } from './decide-mix.js';
import { packingRatio } from './decide-packing.js';
import type { Bench, Figure } from './measure.js';
import { onCoreClock } from './on-core.js';

const nodes = 5_000;
/** How many replicas of one class the queue hands out at a time, at most. */
const turnMax = 256;
const mixes = 20;

export const decideBench: Bench = {
  name: 'decide',
  title: `decisions only, ${nodes} nodes`,
  async run(print) {
    changes(print);
    for (let warm = 0; warm < 3; warm += 1) {
      decide(identical(500, 20_000));
      decide(mixOf(500, 5_000, turnMax));
    }
    print({
      name: 'identical replicas',
      value: decide(identical(nodes, 100_000)).perSecond,
      unit: '/s',
      target: { atLeast: 200_000 },
    });
    const mix = decide(mixOf(nodes, 50_000, turnMax));
    print({ name: 'a mix', value: mix.perSecond, unit: '/s', target: { atLeast: 20_000 } });
    print({ name: 'a mix: longest turn', value: mix.longestMs, unit: 'ms', target: { atMost: 20 } });
    for (const count of [500, 5_000, 10_000]) {
      const alike = decide(identical(count, 20 * count));
      print({ name: `identical, ${count} nodes`, value: 1e6 / alike.perSecond, unit: 'µs each' });
      const mixed = decide(mixOf(count, 10 * count, turnMax));
      print({ name: `a mix, ${count} nodes`, value: 1e6 / mixed.perSecond, unit: 'µs each' });
    }
    const ratios: number[] = [];
    for (let at = 0; at < mixes; at += 1) ratios.push(await packingRatio(at));
    print({
      name: `nodes used for ${mixes} mixes, of the least that a linear program allows`,
      value: ratios.reduce((sum, ratio) => sum + ratio, 0) / mixes,
      unit: 'times',
      target: { atMost: 1.05 },
    });
    print({ name: 'the same, the worst of the mixes', value: Math.max(...ratios), unit: 'times' });
  },
};

export interface Work {
  readonly cell: DecideCell;
  readonly turns: readonly Turn[];
}

function identical(nodeCount: number, replicas: number): Work {
  const cell = new DecideCell();
  cell.tenant('a');
  for (let at = 0; at < nodeCount; at += 1)
    cell.node(`node-${at}`, { cpuMilli: 64_000, memoryBytes: 256 * gibi });
  const classKey = cell.workload('a', 'work', { cpu: '1', memory: '2Gi' });
  return { cell, turns: cell.turns(classKey, replicas, turnMax) };
}

function decide({ cell, turns }: Work): { readonly perSecond: number; readonly longestMs: number } {
  const onCoreMs = onCoreClock();
  let decided = 0;
  let longestMs = 0;
  // As a scheduler's core has them: one seed, and what was said of the nodes kept between turns.
  const options = { policy: builtinPolicy, seed: 1, ages: () => 1_000, ranks: new RankCache() };
  const startedAt = performance.now();
  for (const [at, turn] of turns.entries()) {
    const turnAtMs = onCoreMs();
    const result = propose(cell.cell, turn, options);
    longestMs = Math.max(longestMs, onCoreMs() - turnAtMs);
    decided += turn.replicas.length;
    if (at % 64 === 0) checkReplay(result);
  }
  return { perSecond: decided / ((performance.now() - startedAt) / 1000), longestMs };
}

/** Now and then, that a decision run again is the same one: speed that gives something else is worth nothing. */
function checkReplay({ decision, placements }: ReturnType<typeof propose>): void {
  const choices = placements.map(({ replica, node }) => ({
    replica: replica.name,
    uid: replica.uid,
    operation: '',
    node,
  }));
  const { differences } = replayDecision({ ...decision, choices });
  if (differences.length > 0) throw new Error(`not the same again: ${JSON.stringify(differences[0])}`);
}

function changes(print: (figure: Figure) => void): void {
  const { cell, node } = { cell: new DecideCell(), node: (at: number) => `node-${at}` };
  const accounts = Array.from({ length: nodes }, (_, at) =>
    cell.node(node(at), { cpuMilli: 64_000, memoryBytes: 256 * gibi }),
  );
  const count = 200_000;
  const startedAt = performance.now();
  for (let change = 0; change < count; change += 1) {
    const at = change % nodes;
    const replicas = Math.floor(change / nodes) + 1;
    cell.cell.apply(nodeAccountKey(node(at)), {
      ...accounts[at],
      used: { cpuMilli: replicas * 100, memoryBytes: replicas * gibi, replicas },
      revisions: { 'a/work-1': replicas },
    });
  }
  print({
    name: 'changes of a node account taken in',
    value: count / ((performance.now() - startedAt) / 1000),
    unit: '/s',
    target: { atLeast: 100_000 },
  });
}
