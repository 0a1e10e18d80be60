import { describe, expect, it } from 'vitest';
import { runSeed } from './run-seed.js';
import type { Scenario } from './scenario.js';
import { noFaults } from './world/fault-plan.js';
import { silence } from './world/silence.js';
import { basics, node, startSmallCell } from './world/small-cell.js';

const chaosMs = 20_000;
const cell = { wishes: basics('risk'), detects: true };
const common = {
  about: 'a cell that is left alone',
  chaosMs,
  settleMs: 200_000,
  mustCheck: [],
  mustOccur: [],
};

describe('when faults have stopped', () => {
  it('nobody sleeps any longer', async () => {
    let wokeAtMs: number | undefined;
    const scenario: Scenario = {
      ...{ ...common, name: 'long-sleep' },
      plan: () => ({
        rates: {},
        events: [{ kind: 'pause', atMs: 5_000, forMs: 60_000, target: 0, other: 0 }],
      }),
      begin: (world) => {
        startSmallCell(world, { ...cell, nodes: [node('node-a', '4')] });
        return () => {
          wokeAtMs = world.commits.find(({ by, atMs }) => by === 'server-0' && atMs > 7_000)?.atMs;
          return [];
        };
      },
    };
    expect((await runSeed(scenario, { seed: 1 })).violations).toEqual([]);
    expect(wokeAtMs).toBeGreaterThanOrEqual(chaosMs);
    expect(wokeAtMs).toBeLessThan(chaosMs + 10_000);
  }, 60_000);

  it('[L9] a cell that holds repair back is not at rest: its brakes are still to be eased', async () => {
    const brakedMs: number[] = [];
    const scenario: Scenario = {
      ...{ ...common, name: 'late-brake' },
      plan: () => noFaults,
      begin: (world) => {
        const nodes = [node('node-a', '4'), node('node-b', '4', { zone: 'b' })];
        const { servers } = startSmallCell(world, { ...cell, nodes });
        // Heard of again just before it is looked whether all is still.
        world.wire.after(chaosMs + 49_000, () => {
          for (const { name } of nodes) silence(world, `agent-${name}`, servers, 17_000);
        });
        return () => {
          for (const { changes, atMs } of world.commits)
            if (changes.some(({ key }) => key.startsWith('/s/Region/'))) brakedMs.push(atMs);
          return [];
        };
      },
    };
    expect((await runSeed(scenario, { seed: 1 })).violations).toEqual([]);
    expect(brakedMs).toHaveLength(2);
    // Longer than it would have been waited for if nothing were known to come.
    expect(brakedMs[1]).toBeGreaterThan(chaosMs + 85_000);
  }, 60_000);
});
