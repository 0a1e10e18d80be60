import type { BerthObject } from '../../model/object.js';
import { type AgentManners, startAgent } from './agent.js';
import type { NodeShape } from './node-shape.js';
import { type PlacerOptions, startPlacer } from './placer.js';
import type { SimProcess } from './sim-process.js';
import { startServer } from './start-server.js';
import { startUser } from './user.js';
import { wish } from './wish.js';
import type { World } from './world.js';

export interface SmallCell {
  readonly servers: readonly SimProcess[];
  readonly user: SimProcess;
}

/** Two servers that schedule, the nodes and wishes of a scenario, honest agents, and rivals of the schedulers if there are any. */
export function startSmallCell(
  world: World,
  shape: {
    readonly nodes: readonly NodeShape[];
    readonly wishes: readonly BerthObject[];
    /** The servers run the real detector. */
    readonly detects?: boolean;
    /** False: nobody schedules but the rivals. */
    readonly schedules?: boolean;
    /** Before that they do not schedule. */
    readonly schedulesFromMs?: number;
    readonly rivals?: readonly Partial<PlacerOptions>[];
    readonly exits?: number;
    readonly isCareless?: boolean;
    readonly ignores?: AgentManners['ignores'];
    readonly lookMs?: number;
  },
): SmallCell {
  const { schedules = true, schedulesFromMs = 0, detects = false } = shape;
  const options = { schedules, schedulesFromMs, detects };
  const servers = [startServer(world, 'server-0', options), startServer(world, 'server-1', options)];
  const { ignores = {}, isCareless = false, exits = 0, lookMs } = shape;
  const agent = { isCareless, exits, ignores, ...(lookMs !== undefined && { lookMs }) };
  for (const one of shape.nodes) startAgent(world, servers, one, agent);
  for (const [index, rival] of (shape.rivals ?? []).entries())
    startPlacer(world, servers, {
      ...{ name: `rival-${index}`, lease: `scheduler-rival-${index}`, carelessness: 0, reserves: false },
      ...rival,
    });
  return { servers, user: startUser(world, shape.wishes, false) };
}

export const service = (
  tenant: string,
  name: string,
  replicas: number,
  resources: object,
  more: object = {},
  template: object = {},
): BerthObject =>
  wish('Workload', tenant, name, {
    ...{
      type: 'Service',
      replicas,
      template: { run: { process: { command: ['work'] } }, resources, ...template },
    },
    ...more,
  });

/** What every scenario has: a priority class, a region, and a tenant. */
export const basics = (tenant: string, spec: object = {}, jurisdiction = 'EU'): readonly BerthObject[] => [
  wish('PriorityClass', undefined, 'default', { value: 0 }),
  wish('Region', undefined, 'eu-central', { jurisdiction, zones: ['a', 'b'] }),
  wish('Tenant', undefined, tenant, spec),
];

export const node = (name: string, cpu: string, more: Partial<NodeShape> = {}): NodeShape => ({
  ...{
    name,
    region: 'eu-central',
    zone: 'a',
    allocatable: {
      cpu,
      memory: '16Gi',
      ...(more.devices !== undefined && { devices: { gpu: more.devices['gpu']?.length ?? 0 } }),
    },
  },
  ...more,
});
