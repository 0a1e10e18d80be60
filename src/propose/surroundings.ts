import { ownValue } from '../model/amount.js';
import type { CellState } from './cell-state.js';
import type { NodeDomain } from './node-table.js';
import type { NeighbourTerm, SchedulingClass } from './scheduling-class.js';

/** How many there are in each zone and region, and anywhere. */
export interface DomainCounts {
  readonly zones: Record<string, number>;
  readonly regions: Record<string, number>;
  total: number;
}

/**
 * What is around a class, counted once at the start of a turn and kept current by each placement of it. Plain data: a
 * decision keeps it, so that it can be run again where most nodes are not there.
 */
export interface Surroundings {
  /** The replicas of the own workload, as its account has them. */
  readonly own: DomainCounts;
  /** What each rule of the class speaks of, in the order of its rules. */
  readonly affinity: readonly DomainCounts[];
  readonly antiAffinity: readonly DomainCounts[];
  /** How often a replica of the workload failed, by node. */
  readonly failures: Readonly<Record<string, number>>;
}

const noFailures: Readonly<Record<string, number>> = {};

export function surroundingsOf(cell: CellState, cls: SchedulingClass): Surroundings {
  const { failures } = cell.workload(cls.tenant, cls.spec.workload);
  return {
    own: { ...cell.spreadOf(cls.tenant, cls.spec.workload), total: 0 },
    affinity: cls.affinity.map((term) => countsOf(cell, term)),
    antiAffinity: cls.antiAffinity.map((term) => countsOf(cell, term)),
    failures: failures.size === 0 ? noFailures : Object.fromEntries(failures),
  };
}

function countsOf({ nodes }: CellState, { keys }: NeighbourTerm): DomainCounts {
  const counts: DomainCounts = { zones: {}, regions: {}, total: 0 };
  for (const key of keys) {
    for (const [row, count] of nodes.revisionRows.rowsOf(key) ?? []) {
      const shape = nodes.shapeAt(row);
      if (shape !== undefined) add(counts, shape, count);
    }
  }
  return counts;
}

/** One more of the class is there. */
export function countPlaced(cls: SchedulingClass, around: Surroundings, where: NodeDomain): void {
  add(around.own, where, 1);
  for (const [at, term] of cls.affinity.entries())
    if (term.isAboutSelf) add(around.affinity[at] as DomainCounts, where, 1);
  for (const [at, term] of cls.antiAffinity.entries())
    if (term.isAboutSelf) add(around.antiAffinity[at] as DomainCounts, where, 1);
}

function add(counts: DomainCounts, where: NodeDomain, more: number): void {
  counts.zones[where.zoneKey] = (ownValue(counts.zones, where.zoneKey) ?? 0) + more;
  counts.regions[where.region] = (ownValue(counts.regions, where.region) ?? 0) + more;
  counts.total += more;
}

/** How many there are in the zone or region. */
export const countIn = (
  { zones, regions }: DomainCounts,
  topology: 'Zone' | 'Region',
  where: NodeDomain,
): number => (topology === 'Zone' ? ownValue(zones, where.zoneKey) : ownValue(regions, where.region)) ?? 0;
