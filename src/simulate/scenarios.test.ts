import { describe, expect, it } from 'vitest';
import { runScenario } from './run-scenario.js';
import { scenarios } from './scenarios/all.js';

const seedsPerScenario = 25;
const seeds = Array.from({ length: seedsPerScenario }, (_, seed) => seed);

describe(`${seedsPerScenario} seeds of every small scenario`, () => {
  it.each(scenarios.filter(({ name }) => !['swarm', 'fence', 'node-sessions'].includes(name)))(
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
    180_000,
  );
});
