import highsLoader, { type LegacyHighs } from 'highs';
import { SeededRandom } from '../src/env/random.js';
import { builtinPolicy } from '../src/model/policy.js';
import type { Turn } from '../src/propose/contract.js';
import { propose } from '../src/propose/propose.js';
import { DecideCell, gibi } from './decide-cell.js';

/**
 * Kinds of nodes, with how many there are of each: more than are needed. Those with devices are for work that asks for
 * them, as is usual: which other work may fill them up meanwhile is a question of what comes later, not of packing.
 */
const pools = [
  { name: 'general', cpuMilli: 64_000, memoryBytes: 256 * gibi, gpus: 0, count: 1_000 },
  { name: 'memory', cpuMilli: 64_000, memoryBytes: 256 * gibi, gpus: 0, count: 500 },
  { name: 'gpu', cpuMilli: 64_000, memoryBytes: 256 * gibi, gpus: 8, count: 200 },
] as const;

const gpuTaint = { key: 'gpu', effect: 'NoSchedule' };

interface MixClass {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpus: number;
  readonly pool: string | undefined;
  /** At most one of it on a node. */
  readonly isApart: boolean;
  readonly count: number;
}

/** How many nodes a generated mix of work is placed on, against the least that any placement could do with. */
export async function packingRatio(mix: number): Promise<number> {
  const random = new SeededRandom(`packing/${mix}`);
  const classes = Array.from({ length: 40 + random.integer(40) }, () => classOf(random));
  return nodesUsed(classes, random) / (await leastNodes(classes));
}

function classOf(random: SeededRandom): MixClass {
  const gpus = random.chance(0.1) ? 2 ** random.integer(3) : 0;
  const cpuMilli = 250 * (1 + random.integer(random.chance(0.2) ? 48 : 16));
  // From work that computes to work that remembers: half of a core's share of a node's memory to twice it.
  const memoryBytes = Math.round((cpuMilli / 1_000) * gibi * 2 ** (1 + random.float() * 2));
  const isApart = random.chance(0.1);
  return {
    cpuMilli,
    memoryBytes,
    gpus,
    pool: gpus > 0 ? 'gpu' : random.chance(0.2) ? random.pick(['general', 'memory']) : undefined,
    isApart,
    // What must be apart is few: more of it than nodes are needed for all else would measure itself alone. The rest is
    // many: with few nodes, the last one of each pool, which a linear program divides, would.
    count: 5 + random.integer(isApart ? 6 : gpus > 0 ? 60 : 240),
  };
}

function nodesUsed(classes: readonly MixClass[], random: SeededRandom): number {
  const cell = new DecideCell();
  cell.tenant('a');
  for (const { name, count, ...offers } of pools)
    for (let at = 0; at < count; at += 1)
      cell.node(`${name}-${at}`, {
        ...offers,
        labels: { pool: name },
        ...(offers.gpus > 0 && { taints: [gpuTaint] }),
      });
  const turns: Turn[] = [];
  for (const [at, { cpuMilli, memoryBytes, gpus, pool, isApart, count }] of classes.entries()) {
    const resources = {
      cpu: `${cpuMilli}m`,
      memory: String(memoryBytes),
      ...(gpus > 0 && { devices: { gpu: gpus } }),
    };
    const placement = {
      ...(pool !== undefined && { nodeSelector: { pool } }),
      ...(gpus > 0 && { tolerations: [{ key: gpuTaint.key, operator: 'Exists' }] }),
      ...(isApart && { antiAffinity: [{ topology: 'Node' }] }),
    };
    turns.push(...cell.turns(cell.workload('a', `work-${at}`, resources, { placement }), count, 8));
  }
  // As a queue would hand them out: the classes in turns, in no order that would help.
  for (let at = turns.length - 1; at > 0; at -= 1) {
    const other = random.integer(at + 1);
    [turns[at], turns[other]] = [turns[other] as Turn, turns[at] as Turn];
  }
  const used = new Set<string>();
  for (const [seed, turn] of turns.entries()) {
    const result = propose(cell.cell, turn, { policy: builtinPolicy, seed, ages: () => undefined });
    if (result.waits.length > 0) throw new Error(`the mix does not fit: ${result.waits[0]?.message}`);
    for (const { node } of result.placements) used.add(node);
  }
  return used.size;
}

// The package describes itself as CommonJS, where the loader would be a property; what is imported is the loader.
const load = highsLoader as unknown as () => Promise<LegacyHighs>;

/** The least nodes if replicas and nodes could be divided: a bound that no placement can beat. */
async function leastNodes(classes: readonly MixClass[]): Promise<number> {
  const highs = await load();
  const lines: string[] = [];
  const amounts = ['cpuMilli', 'memoryBytes', 'gpus'] as const;
  const isAllowed = ({ pool }: MixClass, name: string): boolean =>
    pool === undefined ? name !== 'gpu' : pool === name;
  for (const [at, one] of classes.entries()) {
    const parts = pools.flatMap((pool, to) => (isAllowed(one, pool.name) ? [`x${at}_${to}`] : []));
    lines.push(`${parts.join(' + ')} = ${one.count}`);
    if (one.isApart)
      for (const [to, pool] of pools.entries())
        if (isAllowed(one, pool.name)) lines.push(`x${at}_${to} - y${to} <= 0`);
  }
  for (const [to, pool] of pools.entries()) {
    for (const amount of amounts) {
      const parts = classes.flatMap((one, at) =>
        one[amount] > 0 && isAllowed(one, pool.name) ? [`${scaled(one[amount], amount)} x${at}_${to}`] : [],
      );
      if (parts.length > 0) lines.push(`${parts.join(' + ')} - ${scaled(pool[amount], amount)} y${to} <= 0`);
    }
  }
  const bounds = pools.map(({ count }, to) => `0 <= y${to} <= ${count}`);
  const goal = pools.map((_, to) => `y${to}`).join(' + ');
  const solved = highs.solve(
    `Minimize\n ${goal}\nSubject To\n ${lines.map((line, at) => `c${at}: ${line}`).join('\n ')}\nBounds\n ${bounds.join('\n ')}\nEnd\n`,
  );
  if (solved.Status !== 'Optimal') throw new Error(`the bound was not found: ${solved.Status}`);
  return Math.ceil(solved.ObjectiveValue - 1e-6);
}

/** Numbers of like size are what a solver likes. */
const scaled = (value: number, amount: 'cpuMilli' | 'memoryBytes' | 'gpus'): number =>
  amount === 'cpuMilli' ? value / 1_000 : amount === 'memoryBytes' ? value / gibi : value;
