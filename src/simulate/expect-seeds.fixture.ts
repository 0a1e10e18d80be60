import { expect } from 'vitest';
import { runScenario } from './run-scenario.js';
import type { Scenario } from './scenario.js';
import { scenarios } from './scenarios/all.js';

const large: readonly string[] = ['swarm', 'fence', 'node-sessions', 'agents'];

/** A seed of a large world takes some seconds, one of a small world less than one. */
export const largeScenarios = scenarios.filter(({ name }) => large.includes(name));

const small = scenarios.filter(({ name }) => !large.includes(name));

// What is lost takes its time: leases, fences and what people are given to answer.
const isLong = ({ chaosMs }: Scenario): boolean => chaosMs > 65_000;

// Only the order of simultaneous events differs between seeds of these scenarios.
const calm: readonly string[] = ['durations', 'zone-lost'];

/** How many seeds of a small world are run: few of those that last long. */
export const seedsOf = (scenario: Scenario): number =>
  scenario.seedsWhole ?? (calm.includes(scenario.name) ? 2 : isLong(scenario) ? 4 : 18);

/** One half of the small ones: files of tests run beside each other. */
export const smallScenarios = (half: 0 | 1): readonly Scenario[] =>
  small.filter((_, index) => index % 2 === half);

/** Runs the first seeds of a scenario: no rule is broken, and each rule and fault occurred. */
export async function expectSeeds(scenario: Scenario, count: number): Promise<void> {
  const { failed, missing } = await runScenario(
    scenario,
    Array.from({ length: count }, (_, seed) => seed),
  );
  const shown = failed.map(
    ({ seed, violations }) =>
      `seed ${seed}: ${violations.map(({ rule, message }) => `${rule} ${message}`).join('; ')}`,
  );
  expect(shown).toEqual([]);
  expect(missing, 'rules and faults that never occurred').toEqual([]);
}
