import { SeededRandom } from '../src/env/random.js';
import type { Turn } from '../src/propose/contract.js';
import { DecideCell, gibi } from './decide-cell.js';

const tenants = 20;
const priorities = ['low', 'middle', 'high'];
const regions = ['east', 'west', 'north'];
const zones = ['a', 'b', 'c'];
const pools = ['general', 'memory', 'gpu'];

const placements: readonly (object | undefined)[] = [
  undefined,
  undefined,
  { nodeSelector: { pool: 'general' } },
  { regions: ['east', 'west'], spread: [{ topology: 'Zone', maxSkew: 1 }] },
  { antiAffinity: [{ topology: 'Node' }] },
  { spread: [{ topology: 'Node', maxSkew: 2 }] },
  { near: { region: 'north' }, antiAffinity: [{ topology: 'Node', mode: 'Preferred' }] },
];

/** Nodes of three pools in three regions, and the work of 20 tenants: turns of their classes, the important first. */
export function mixOf(nodes: number, replicas: number, turnMax: number): { cell: DecideCell; turns: Turn[] } {
  const random = new SeededRandom(`mix/${nodes}/${replicas}`);
  const cell = new DecideCell();
  for (const name of regions) cell.put('Region', undefined, name, { zones, latencyMs: {} });
  for (const [value, name] of priorities.entries()) cell.put('PriorityClass', undefined, name, { value });
  for (let at = 0; at < nodes; at += 1) {
    const pool = pools[at % 10 === 0 ? 2 : at % 10 < 4 ? 1 : 0] as string;
    cell.node(`node-${at}`, {
      cpuMilli: 64_000,
      memoryBytes: (pool === 'memory' ? 512 : 256) * gibi,
      gpus: pool === 'gpu' ? 8 : 0,
      labels: { pool },
      region: random.pick(regions),
      zone: random.pick(zones),
    });
  }
  for (let tenant = 0; tenant < tenants; tenant += 1) cell.tenant(`tenant-${tenant}`);
  const turns = new Map<string, Turn[]>(priorities.map((name) => [name, []]));
  for (let made = 0, number = 0; made < replicas; number += 1) {
    const tenant = `tenant-${number % tenants}`;
    const priority = random.pick(priorities);
    const needsGpu = random.chance(0.05);
    const count = Math.min(replicas - made, needsGpu ? 1 + random.integer(8) : 1 + random.integer(80));
    const classKey = cell.workload(
      tenant,
      `work-${number}`,
      {
        cpu: `${100 * (1 + random.integer(30))}m`,
        memory: `${256 * (1 + random.integer(32))}Mi`,
        ...(needsGpu && { devices: { gpu: 1 + random.integer(2) } }),
      },
      { ...withPlacement(random.pick(placements)), priorityClassName: priority },
    );
    turns.get(priority)?.push(...cell.turns(classKey, count, turnMax));
    made += count;
  }
  return { cell, turns: priorities.toReversed().flatMap((name) => turns.get(name) ?? []) };
}

const withPlacement = (placement: object | undefined) => (placement === undefined ? {} : { placement });
