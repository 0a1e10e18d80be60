import { type CheckName, checkNames, untriedChecks } from '../commit/checks.js';
import { runSeed } from './run-seed.js';
import type { Scenario } from './scenario.js';

/** The checks that are switched off alone: all but those behind which another refuses the same. */
export const mutantNames: readonly CheckName[] = checkNames.filter(
  (name) => untriedChecks[name] === undefined,
);

/** One defect put into the authority on purpose, and who noticed. */
export interface MutantResult {
  readonly mutant: CheckName;
  /** The rule that was found broken; undefined: nobody noticed. */
  readonly caughtBy: string | undefined;
  readonly message: string | undefined;
  /** The scenario and seed that show it. */
  readonly scenario: string | undefined;
  readonly seed: number | undefined;
  /** How many seeds it took; all of them if nobody noticed. */
  readonly seeds: number;
}

/**
 * Switches off the checks of the authority one at a time and runs seeds, of each scenario in turn, until a rule is
 * found broken. It shows that the checkers can fail: one that survives is a check that nothing holds the authority to.
 */
export async function* runMutants(
  scenarios: readonly Scenario[],
  options: { readonly seedsMax: number; readonly only?: readonly CheckName[] },
): AsyncGenerator<MutantResult> {
  for (const mutant of options.only ?? mutantNames)
    yield await runMutant(scenarios, mutant, options.seedsMax);
}

async function runMutant(
  scenarios: readonly Scenario[],
  mutant: CheckName,
  seedsMax: number,
): Promise<MutantResult> {
  for (let turn = 0; turn < seedsMax; turn++) {
    const scenario = scenarios[turn % scenarios.length] as Scenario;
    const seed = Math.floor(turn / scenarios.length);
    const { violations } = await runSeed(scenario, { seed, mutant, isSafetyOnly: true });
    const [first] = violations;
    if (first !== undefined)
      return {
        mutant,
        caughtBy: first.rule,
        message: first.message,
        scenario: scenario.name,
        seed,
        seeds: turn + 1,
      };
  }
  return {
    mutant,
    caughtBy: undefined,
    message: undefined,
    scenario: undefined,
    seed: undefined,
    seeds: seedsMax,
  };
}
