import { BerthError } from '../../model/errors.js';
import type { RegionSpec } from '../../model/kinds/region.js';
import type { Register } from '../../model/ports.js';
import { type HollowProfile, usualProfile } from '../drivers/hollow-profile.js';
import { readSpecFile } from '../read-spec-file.js';
import { fleet, type FleetSpec, namesIn, nodesMax, type PoolSpec } from './fleet-kind.js';

/** What a node of a fleet offers, and how it behaves. */
export interface FleetNode {
  readonly offer: Pick<
    Register,
    'node' | 'region' | 'zone' | 'labels' | 'taints' | 'capacity' | 'allocatable' | 'devices'
  >;
  readonly profile: HollowProfile;
  /** How long its lease lasts without a renewal, if not as long as usual. */
  readonly leaseSeconds?: number;
}

export interface Fleet {
  readonly nodes: readonly FleetNode[];
  /** Regions that the nodes are in or that the file describes, by name. */
  readonly regions: ReadonlyMap<string, RegionSpec>;
}

/** The fleet of a file. What is wrong is said at once, each with its path, value and what is allowed. */
export function readFleet(text: string, file: string): Fleet {
  // A parsed boundary: the form has been checked.
  return fleetOf(readSpecFile(text, file, fleet, 'InvalidFleet') as FleetSpec);
}

/** So many nodes that are alike, in the region `local`. */
export function plainFleet(count: number): Fleet {
  if (!Number.isSafeInteger(count) || count < 1 || count > nodesMax)
    throw new BerthError('InvalidFleet', `got ${count} nodes, allowed are 1 to ${nodesMax}`);
  return fleetOf({ pools: [{ name: 'hollow', count, capacity: { cpu: '16', memory: '64Gi' } }] });
}

function fleetOf({ pools, regions = {}, profiles = {} }: FleetSpec): Fleet {
  const needed = new Map<string, RegionSpec>(Object.entries(regions));
  for (const { region = 'local' } of pools) if (!needed.has(region)) needed.set(region, {});
  const nodes = pools.flatMap((pool) => {
    const profile = { ...usualProfile, ...(pool.profile !== undefined && profiles[pool.profile]) };
    const { leaseSeconds } = pool;
    return namesIn(pool).map((name, index): FleetNode => ({
      ...{ offer: offerOf(pool, name, index), profile },
      ...(leaseSeconds !== undefined && { leaseSeconds }),
    }));
  });
  return { nodes, regions: needed };
}

function offerOf(pool: PoolSpec, node: string, index: number): FleetNode['offer'] {
  const { region = 'local', zones = ['local'], labels, taints, devices = {} } = pool;
  const ids = Object.fromEntries(
    Object.entries(devices).map(([kind, count]) => [
      kind,
      Array.from({ length: count }, (_, number) => `${node}-${kind}-${number}`),
    ]),
  );
  const capacity = { ...pool.capacity, ...(Object.keys(devices).length > 0 && { devices }) };
  return {
    ...{ node, region, capacity, allocatable: capacity, devices: ids },
    zone: zones[index % zones.length] ?? 'local',
    ...(labels !== undefined && { labels }),
    ...(taints !== undefined && { taints }),
  };
}
