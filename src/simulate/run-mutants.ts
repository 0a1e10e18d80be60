import { type CheckName, checkNames } from '../commit/checks.js';
import { runSeed } from './run-seed.js';
import type { Scenario } from './scenario.js';

/** One defect put into the authority on purpose, and who noticed. */
export interface MutantResult {
  readonly mutant: CheckName;
  /** The rule that was found broken; undefined: nobody noticed. */
  readonly caughtBy: string | undefined;
  readonly message: string | undefined;
  /** How many seeds it took; all of them if nobody noticed. */
  readonly seeds: number;
}

/**
 * Switches off the checks of the authority one at a time and runs seeds until a rule is found broken. It shows that
 * the checkers can fail: one that survives is a check that nothing holds the authority to.
 */
export async function* runMutants(
  scenario: Scenario,
  options: { readonly seedsMax: number; readonly only?: readonly CheckName[] },
): AsyncGenerator<MutantResult> {
  for (const mutant of options.only ?? checkNames) yield await runMutant(scenario, mutant, options.seedsMax);
}

async function runMutant(scenario: Scenario, mutant: CheckName, seedsMax: number): Promise<MutantResult> {
  for (let seed = 0; seed < seedsMax; seed++) {
    const { violations } = await runSeed(scenario, { seed, mutant, isSafetyOnly: true });
    const [first] = violations;
    if (first !== undefined) return { mutant, caughtBy: first.rule, message: first.message, seeds: seed + 1 };
  }
  return { mutant, caughtBy: undefined, message: undefined, seeds: seedsMax };
}
