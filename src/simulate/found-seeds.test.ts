import { describe, expect, it } from 'vitest';
import { runSeed } from './run-seed.js';
import type { Scenario } from './scenario.js';
import { agents } from './scenarios/agents.js';
import { lostDirectory } from './scenarios/lost-directory.js';
import { swarm } from './scenarios/swarm.js';
import { noFaults } from './world/fault-plan.js';

describe('seeds that failed once although Berth was right', () => {
  it.each<readonly [string, Scenario, number]>([
    ['the cell was called quiet while a fence was running', lostDirectory, 571_338_290],
    ['a played agent started again what it had stopped, from an old list', swarm, 315_217_470],
    ['a timer shorter than its clock could show was set for ever', agents, 908_149_277],
  ])(
    '%s',
    async (_, scenario, seed) => {
      expect((await runSeed(scenario, { seed })).violations).toEqual([]);
    },
    60_000,
  );
});

describe('a seed in which time stands still', () => {
  it('fails, and names the process and the code that set the timer', async () => {
    const stuck: Scenario = {
      ...{ name: 'stuck', about: 'a process that sets timers for ever', chaosMs: 10_000, settleMs: 70_000 },
      ...{ mustCheck: [], mustOccur: [], plan: () => noFaults },
      begin: (world) => {
        world.addProcess('spinner', async ({ env }) => {
          await env.sleep(2_000);
          const spinsForEver = (): void => void env.after(0, spinsForEver);
          spinsForEver();
        });
        return () => [];
      },
    };
    const { violations } = await runSeed(stuck, { seed: 1 });
    expect(violations).toHaveLength(1);
    expect(violations[0]?.rule).toBe('crash');
    expect(violations[0]?.message).toMatch(
      /virtual time stands .* set by spinner\.1, 0 ms ahead.*spinsForEver/s,
    );
  }, 60_000);
});
