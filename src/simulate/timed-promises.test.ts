import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mutants } from './mutant.js';
import { durationTrial } from './mutant-trials.js';
import { runMutants } from './run-mutants.js';
import { timedPromises } from './timed-promises.js';
import { wrongDurationNames } from './wrong-durations.js';

const page = readFileSync('docs/simulate.md', 'utf8');
const trials = timedPromises.flatMap((promise) =>
  Object.keys(promise.mutants).map((name) => {
    const mutant = mutants.find((one) => one.name === name);
    if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
    return [promise.name, name, durationTrial(mutant, promise)] as const;
  }),
);

describe('the durations that Berth promises', () => {
  it('each have a file that keeps them, a checker, a mutant, and a line in the documentation', () => {
    expect(new Set(timedPromises.map(({ name }) => name)).size).toBe(timedPromises.length);
    for (const { name, promise, kept, judgedBy, mutants: own } of timedPromises) {
      expect(existsSync(`src/${kept}`), kept).toBe(true);
      for (const checker of judgedBy)
        expect(existsSync(`src/simulate/checkers/${checker}.ts`), checker).toBe(true);
      expect(Object.keys(own).length, name).toBeGreaterThan(0);
      expect(page).toContain(`\`${name}\``);
      expect(page).toContain(promise);
    }
  });

  it('use every duration that can be wrong', () => {
    const used = new Set(trials.map(([, name]) => name));
    expect(wrongDurationNames.filter((name) => !used.has(name))).toEqual([]);
  });

  it.each(trials)(
    '%s: with %s its own checker finds it broken',
    async (_, __, trial) => {
      for await (const { caughtBy, message } of runMutants([trial], { seedsMax: 12 })) {
        expect(message).toMatch(trial.shows ?? /^$/);
        expect(caughtBy).toMatch(/^S|^L|^scenario/);
      }
    },
    120_000,
  );
});
