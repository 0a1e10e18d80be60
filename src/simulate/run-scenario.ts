import type { Scenario, SeedResult } from './scenario.js';
import { runSeed, type SeedOptions } from './run-seed.js';

/** What came of the seeds of one scenario. */
export interface ScenarioReport {
  readonly scenario: string;
  readonly about: string;
  readonly seeds: number;
  readonly virtualMs: number;
  readonly transactions: number;
  readonly commits: number;
  readonly refused: number;
  /** How many operations were refused for an older epoch alone, by operation and epoch. */
  readonly stale: Readonly<Record<string, number>>;
  /** How many faults of each kind struck. */
  readonly faults: Readonly<Record<string, number>>;
  /** How often each rule had something to check. */
  readonly checked: Readonly<Record<string, number>>;
  readonly failed: readonly SeedResult[];
  /** Rules and faults that must occur and did not: these seeds show nothing about them. */
  readonly missing: readonly string[];
}

/** What the seeds of one scenario, or of one defect, show. `TooFewSeeds` says nothing about Berth: more seeds are needed. */
export type Verdict = 'Held' | 'Broken' | 'TooFewSeeds';

export function verdictOf({ failed, missing }: Pick<ScenarioReport, 'failed' | 'missing'>): Verdict {
  if (failed.length > 0) return 'Broken';
  return missing.length > 0 ? 'TooFewSeeds' : 'Held';
}

/** The verdict on several of them: one that is broken outweighs any number that show too little. */
export function verdictOfAll(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('Broken')) return 'Broken';
  return verdicts.includes('TooFewSeeds') ? 'TooFewSeeds' : 'Held';
}

// After so many failing seeds of a scenario the others would tell nothing new.
const failedMax = 5;

/** Runs seeds of a scenario one after the other. */
export async function runScenario(
  scenario: Scenario,
  seeds: readonly number[],
  options: Omit<SeedOptions, 'seed'> & {
    /** A run that is too short to see everything need not. */
    readonly mayMiss?: boolean;
    readonly onSeed?: (result: SeedResult) => void;
  } = {},
): Promise<ScenarioReport> {
  const results: SeedResult[] = [];
  for (const seed of seeds) {
    const result = await runSeed(scenario, { ...options, seed });
    results.push(result);
    options.onSeed?.(result);
    if (results.filter(({ violations }) => violations.length > 0).length >= failedMax) break;
  }
  const sum = (value: (result: SeedResult) => number): number =>
    results.reduce((total, result) => total + value(result), 0);
  const sums = (counts: (result: SeedResult) => Readonly<Record<string, number>>): Record<string, number> => {
    const total: Record<string, number> = {};
    for (const result of results)
      for (const [name, count] of Object.entries(counts(result))) total[name] = (total[name] ?? 0) + count;
    return total;
  };
  const faults = sums((result) => result.faults);
  const checked = sums((result) => result.checked);
  const stale = sums((result) => result.stale);
  const failed = results.filter(({ violations }) => violations.length > 0);
  const missing =
    options.mayMiss === true || failed.length > 0
      ? []
      : [
          ...scenario.mustCheck.filter((rule) => !checked[rule]),
          ...scenario.mustOccur.filter((kind) => !faults[kind]),
          ...(scenario.mustRefuse ?? []).filter((pair) => !stale[pair]).map((pair) => `a stale ${pair}`),
        ];
  return {
    ...{ scenario: scenario.name, about: scenario.about, seeds: results.length },
    virtualMs: sum((result) => result.virtualMs),
    transactions: sum((result) => result.transactions),
    commits: sum((result) => result.commits),
    refused: sum((result) => result.refused),
    ...{ stale, faults, checked, failed, missing },
  };
}
