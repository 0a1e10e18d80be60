import type { Mutant } from '../simulate/mutant.js';
import { trialOf } from '../simulate/mutant-trials.js';
import { runMutants, type MutantResult } from '../simulate/run-mutants.js';
import { runScenario, type ScenarioReport } from '../simulate/run-scenario.js';
import type { Scenario, SeedResult } from '../simulate/scenario.js';
import { scenarios } from '../simulate/scenarios/all.js';
import { shrink, type Shrunk } from '../simulate/shrink.js';

export { scenarios } from '../simulate/scenarios/all.js';
export { mutants, mutantsNamed } from '../simulate/mutant.js';
export { mutantSeedsMax, verdictOnMutant, type MutantResult } from '../simulate/run-mutants.js';
export { verdictOf, verdictOfAll, type ScenarioReport, type Verdict } from '../simulate/run-scenario.js';
export type { Shrunk } from '../simulate/shrink.js';

export const scenarioNamed = (name: string): Scenario | undefined =>
  scenarios.find((scenario) => scenario.name === name);

/** Runs scenarios one after the other; each report comes as soon as its scenario is over. */
export async function* simulate(
  chosen: readonly Scenario[],
  seeds: readonly number[],
  options: {
    readonly mayMiss: boolean;
    readonly trace?: (line: string) => void;
    readonly onSeed?: (result: SeedResult) => void;
  },
): AsyncGenerator<ScenarioReport> {
  for (const scenario of chosen) yield await runScenario(scenario, seeds, options);
}

export const shrinkSeed = (
  scenario: Scenario,
  seed: number,
  onTry: (faults: number) => void,
): Promise<Shrunk | undefined> => shrink(scenario, seed, onTry);

/** Each of these defects in turn, in the worlds where something would come of it. */
export const tryMutants = (
  chosen: readonly Mutant[],
  options: { readonly seedsMax: number; readonly from: number },
): AsyncGenerator<MutantResult> => runMutants(chosen.map(trialOf), options);
