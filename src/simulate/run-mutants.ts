import type { Mutant } from './mutant.js';
import { runSeed } from './run-seed.js';
import type { Verdict } from './run-scenario.js';
import type { Scenario } from './scenario.js';

/** A defect, and the worlds in which something would come of it. */
export interface Trial {
  readonly mutant: Mutant;
  readonly scenarios: readonly Scenario[];
  /** Only a violation with such a message counts; any violation counts if left out. */
  readonly shows?: RegExp;
  /** The whole run is judged, and not only safety while faults go on. */
  readonly untilEnd?: boolean;
  /** The seed of a turn, where something would come of it with some seeds only. */
  readonly seedAt?: (turn: number, from: number) => number;
}

/** One defect put in on purpose, and who noticed. */
export interface MutantResult {
  readonly mutant: Mutant['name'];
  /** The rule that was found broken; undefined: nobody noticed. */
  readonly caughtBy: string | undefined;
  readonly message: string | undefined;
  /** The scenario and seed that show it. */
  readonly scenario: string | undefined;
  readonly seed: number | undefined;
  /** How many seeds it took; all of them if nobody noticed. */
  readonly seeds: number;
}

/** Every defect has to be noticed within this many seeds. */
export const mutantSeedsMax = 200;

/** A defect that fewer seeds than that did not show may still be noticed by more of them. */
export function verdictOnMutant({ caughtBy, seeds }: MutantResult): Verdict {
  if (caughtBy !== undefined) return 'Held';
  return seeds < mutantSeedsMax ? 'TooFewSeeds' : 'Broken';
}

/**
 * Puts in one defect at a time and runs seeds, of each of its scenarios in turn, until a rule is found broken. It shows
 * that the checkers can fail: one that survives is a check, or a term of the fence, that nothing holds Berth to.
 */
export async function* runMutants(
  trials: Iterable<Trial>,
  options: { readonly seedsMax: number; readonly from?: number },
): AsyncGenerator<MutantResult> {
  for (const trial of trials) yield await runMutant(trial, options.seedsMax, options.from ?? 0);
}

async function runMutant(
  { mutant, scenarios, shows, seedAt, untilEnd = false }: Trial,
  seedsMax: number,
  from: number,
): Promise<MutantResult> {
  for (let turn = 0; turn < seedsMax; turn++) {
    const scenario = scenarios[turn % scenarios.length] as Scenario;
    const seed = seedAt?.(turn, from) ?? from + Math.floor(turn / scenarios.length);
    const { violations } = await runSeed(scenario, {
      ...{ seed, mutant, isSafetyOnly: !untilEnd },
      ...(shows !== undefined && { shows }),
    });
    const first = violations.find(({ message }) => shows?.test(message) !== false);
    if (first !== undefined)
      return {
        mutant: mutant.name,
        caughtBy: first.rule,
        message: first.message,
        scenario: scenario.name,
        seed,
        seeds: turn + 1,
      };
  }
  return {
    mutant: mutant.name,
    caughtBy: undefined,
    message: undefined,
    scenario: undefined,
    seed: undefined,
    seeds: seedsMax,
  };
}
