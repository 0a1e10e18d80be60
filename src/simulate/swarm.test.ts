import { describe, expect, it } from 'vitest';
import { runScenario } from './run-scenario.js';
import { fence } from './scenarios/fence.js';
import { nodeSessions } from './scenarios/node-sessions.js';
import { swarm } from './scenarios/swarm.js';

const seeds = Array.from({ length: 15 }, (_, seed) => seed);

describe('15 seeds of the large worlds', () => {
  it.each([swarm, fence, nodeSessions])(
    '$name: $about',
    async (scenario) => {
      const { failed, missing } = await runScenario(scenario, seeds);
      const shown = failed.map(
        ({ seed, violations }) =>
          `seed ${seed}: ${violations.map(({ rule, message }) => `${rule} ${message}`).join('; ')}`,
      );
      expect(shown).toEqual([]);
      expect(missing, 'rules and faults that never occurred').toEqual([]);
    },
    240_000,
  );
});
