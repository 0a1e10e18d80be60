import type { Scenario } from '../scenario.js';
import { startAgent } from '../world/agent.js';
import { noFaults } from '../world/fault-plan.js';
import { RestlessOperator } from '../world/restless-operator.js';
import { node } from '../world/small-cell.js';
import { startServer } from '../world/start-server.js';
import { startUser } from '../world/user.js';
import { wish } from '../world/wish.js';

/** By then everybody leads, and nodes have registered. */
const startedMs = 8_000;

/** [L1] Everything changes while nothing fails and no sweep tries parked work again. The checker alone knows which change cures what. */
export const calm: Scenario = {
  name: 'calm',
  about:
    'users and operators change everything there is in a cell where nothing fails: what fits is bound promptly, without a sweep',
  chaosMs: 80_000,
  settleMs: 120_000,
  seedsWhole: 4,
  plan: () => noFaults,
  begin: (world) => {
    world.scheduling = { ...world.scheduling, shards: 1, sweepEveryMs: Number.POSITIVE_INFINITY };
    world.promptBinding.promiseFrom(startedMs);
    const detects = world.options.seed % 2 === 0;
    const servers = [
      startServer(world, 'server-0', { detects }),
      startServer(world, 'server-1', { schedules: true, startsFromMs: 500, detects }),
    ];
    const shapes = [
      node('n1', '4', { region: 'eu' }),
      node('n2', '4', { region: 'eu', zone: 'b', labels: { pool: 'x' } }),
      node('n3', '2', { region: 'eu', devices: { gpu: ['gpu-0', 'gpu-1'] } }),
      node('n4', '3', { region: 'us' }),
    ];
    for (const shape of shapes) startAgent(world, servers, shape, { isCareless: false, exits: 0.005 });
    const wishes = [
      wish('PriorityClass', undefined, 'default', { value: 0 }),
      wish('PriorityClass', undefined, 'mid', { value: 50 }),
      wish('PriorityClass', undefined, 'high', { value: 100, recoveryPools: true }),
      wish('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] }),
      wish('Region', undefined, 'us', { jurisdiction: 'US', zones: ['a'] }),
      wish('Tenant', undefined, 'x', {}),
      wish('Tenant', undefined, 'y', { guaranteed: { cpu: '2' } }),
    ];
    const user = startUser(world, wishes, false);
    const nodes = shapes.map(({ name }) => name);
    void new RestlessOperator(world, { user, servers, nodes, tenants: ['x', 'y'] });
    return () => [];
  },
  mustCheck: ['S1', 'S2', 'S3', 'S4', 'S7', 'L1', 'L2', 'L6'],
  mustOccur: ['partition'],
};
