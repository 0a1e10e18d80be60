import { describe, expect, it } from 'vitest';
import { mutantsNamed } from './mutant.js';
import { trialOf } from './mutant-trials.js';
import { runMutants } from './run-mutants.js';
import { wakeDefectNames } from './wake-defects.js';

describe('[L1] a scheduler that forgets to wake what waits is noticed', () => {
  it.each(wakeDefectNames)(
    '%s',
    async (name) => {
      const trials = mutantsNamed([name])
        .filter((mutant) => mutant.name === name)
        .map(trialOf);
      expect(trials).toHaveLength(1);
      for await (const { caughtBy } of runMutants(trials, { seedsMax: 24 })) expect(caughtBy).toBe('L1');
    },
    60_000,
  );
});
