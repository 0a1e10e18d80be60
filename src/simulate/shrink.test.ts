import { describe, expect, it } from 'vitest';
import type { Scenario } from './scenario.js';
import { shrink } from './shrink.js';
import { startServer } from './world/start-server.js';

/** Fails exactly if its one process was ever crashed by the plan. */
const fragile: Scenario = {
  name: 'fragile',
  about: 'a server that must not crash',
  chaosMs: 3_000,
  settleMs: 70_000,
  plan: () => ({
    rates: { 'store.replyLost': 0.01, 'watch.cut': 0.01 },
    events: [
      { kind: 'pause', atMs: 500, forMs: 100, target: 0, other: 0 },
      { kind: 'crash', atMs: 1_000, forMs: 300, target: 0, other: 0 },
      { kind: 'storeCut', atMs: 1_500, forMs: 200, target: 0, other: 0 },
    ],
  }),
  begin: (world) => {
    startServer(world, 'server-0');
    return () => ((world.faults.counts.get('crash') ?? 0) > 0 ? ['it crashed'] : []);
  },
  mustCheck: [],
  mustOccur: [],
};

describe('shrinking', () => {
  it('leaves only the faults without which the seed does not fail', async () => {
    const shrunk = await shrink(fragile, 1);
    expect(shrunk?.plan.events.map(({ kind }) => kind)).toEqual(['crash']);
    expect(shrunk?.plan.rates).toEqual({});
    expect(shrunk).toMatchObject({ rule: 'scenario', message: 'it crashed' });
  }, 60_000);
});
