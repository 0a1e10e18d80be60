import { startAgent } from '../world/agent.js';
import { startMeddler } from '../world/meddler.js';
import { nodeShapes, wishes } from '../world/platform.js';
import { startPlacer } from '../world/placer.js';
import { startServer } from '../world/start-server.js';
import { startUser } from '../world/user.js';
import type { Scenario } from '../scenario.js';
import { callFaults, eventFaults, startFaults } from '../world/fault-plan.js';

/** Everybody at once, everything going wrong: what no scenario was written for. */
export const swarm: Scenario = {
  name: 'swarm',
  about:
    'two servers with schedulers, two careless rivals of theirs, careless agents, a meddler and a restless user, with every fault there is',
  chaosMs: 60_000,
  settleMs: 180_000,
  begin: (world) => {
    const schedules = { schedules: true };
    const servers = [startServer(world, 'server-0', schedules), startServer(world, 'server-1', schedules)];
    for (const shape of nodeShapes) startAgent(world, servers, shape, { isCareless: true, exits: 0.01 });
    startPlacer(world, servers, {
      name: 'rival-a',
      lease: 'scheduler-rival-a',
      carelessness: 0.3,
      reserves: true,
    });
    startPlacer(world, servers, {
      name: 'rival-b',
      lease: 'scheduler-rival-b',
      carelessness: 0.3,
      reserves: true,
    });
    startMeddler(world, servers, { everyMs: 400 });
    startUser(world, wishes, true);
    return () => [];
  },
  mustCheck: [
    'S1',
    'S2',
    'S3',
    'S4',
    'S5',
    'S6',
    'S7',
    'S8',
    'S9',
    'S11',
    'S12',
    'L1',
    'L2',
    'L3',
    'L4',
    'L6',
    'L7',
    'L8',
    'L9',
  ],
  mustOccur: [...callFaults, ...startFaults, ...eventFaults, 'historyLost'],
  mustRefuse: [
    ...(['renew.lease', 'resign.lease', 'incarnate.actor', 'reserve.actor', 'reserve.node'] as const),
    ...(['bind.actor', 'bind.node', 'postpone.actor', 'report.node', 'report.fence', 'evict.actor'] as const),
    ...([
      'move.actor',
      'release.actor',
      'publish.actor',
      'withdraw.actor',
      'gate.actor',
      'gate.node',
    ] as const),
    ...(['grant.actor', 'moveGang.actor', 'forget.actor', 'lease.released'] as const),
  ],
};
