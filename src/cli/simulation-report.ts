import type { MutantResult, ScenarioReport, Verdict } from '../main/simulate.js';
import { type ExitCode, exitCodes } from './exit-codes.js';

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const shownCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

/** What `berth simulate` prints about one scenario. */
export function scenarioLines(report: ScenarioReport): readonly string[] {
  const { scenario, seeds, virtualMs, transactions, commits, refused } = report;
  const again = (seed: number): string =>
    `    again: berth simulate --scenario ${scenario} --seed ${seed}    fewer faults: … --shrink`;
  return [
    `${scenario}: ${report.about}`,
    `  ${counted(seeds, 'seed')}, ${Math.round(virtualMs / 1_000)} virtual seconds, ${transactions} transactions tried, ${commits} committed, ${refused} forbidden operations refused`,
    `  stale operations refused: ${shownCounts(report.stale) || 'none'}`,
    `  faults: ${shownCounts(report.faults) || 'none'}`,
    `  checked: ${shownCounts(report.checked)}`,
    ...report.missing.map(
      (name) => `  TOO FEW SEEDS: ${name} never occurred in ${counted(seeds, 'seed')}; run more with --seeds`,
    ),
    ...failedLines(report.failed, again),
  ];
}

/** Each violation once, with the first seed that shows it and the other seeds that show it too. */
function failedLines(failed: ScenarioReport['failed'], again: (seed: number) => string): readonly string[] {
  const seeds = new Map<string, number[]>();
  const keyOf = ({ rule, message }: { rule: string; message: string }): string => `${rule} ${message}`;
  for (const { seed, violations } of failed)
    for (const key of new Set(violations.map(keyOf))) seeds.set(key, [...(seeds.get(key) ?? []), seed]);
  return failed.flatMap(({ seed, violations }) => {
    const lines = violations.flatMap((violation) => {
      const [first, ...others] = seeds.get(keyOf(violation)) ?? [];
      if (first !== seed) return [];
      const { rule, revision, message } = violation;
      const also =
        others.length === 0 ? '' : ` (also ${others.length === 1 ? 'seed' : 'seeds'} ${others.join(', ')})`;
      return [`  FAILED: seed ${seed}${also}, ${rule} at revision ${revision}: ${message}`];
    });
    const once = [...new Set(lines)];
    return once.length === 0 ? [] : [...once, again(seed)];
  });
}

/** What `berth simulate --mutants` prints about one defect. */
export function mutantLine({ mutant, caughtBy, message, scenario, seed, seeds }: MutantResult): string {
  const result =
    caughtBy === undefined
      ? `NOT NOTICED in ${counted(seeds, 'seed')}`
      : `${caughtBy} after ${counted(seeds, 'seed')} (${scenario} ${seed}): ${message?.slice(0, 120)}`;
  return `${mutant.padEnd(26)} ${result}`;
}

/** The last line about the seeds of some scenarios. */
export function scenariosSummary(
  verdicts: readonly Verdict[],
  { seeds, seconds, virtualMs }: { seeds: number; seconds: number; virtualMs: number },
): string {
  const speed = `${Math.round((60 * seeds) / seconds)} a minute, ${Math.round(virtualMs / 1_000 / seconds)} virtual seconds a second`;
  const broken = verdicts.filter((verdict) => verdict === 'Broken').length;
  const tooFew = verdicts.filter((verdict) => verdict === 'TooFewSeeds').length;
  const found = [
    broken === 0 ? 'no rule was broken' : `a rule was broken in ${counted(broken, 'scenario')}`,
    ...(tooFew === 0 ? [] : [`too few seeds for ${counted(tooFew, 'scenario')}`]),
  ];
  return `${counted(seeds, 'seed')} in ${seconds.toFixed(1)}s (${speed}): ${found.join('; ')}`;
}

/** The last line about some defects. */
export function mutantsSummary(
  results: readonly MutantResult[],
  verdictOn: (result: MutantResult) => Verdict,
): string {
  const named = (verdict: Verdict): string =>
    results
      .filter((result) => verdictOn(result) === verdict)
      .map(({ mutant }) => mutant)
      .join(', ');
  const noticed = results.filter((result) => verdictOn(result) === 'Held').length;
  const [survived, tooFew] = [named('Broken'), named('TooFewSeeds')];
  return (
    `${counted(results.length, 'defect')}, ${noticed} noticed` +
    (survived === '' ? '' : `; no rule noticed ${survived}`) +
    (tooFew === '' ? '' : `; too few seeds for ${tooFew}`)
  );
}

export const exitCodeOf: Readonly<Record<Verdict, ExitCode>> = {
  Held: exitCodes.done,
  Broken: exitCodes.conditionFailed,
  TooFewSeeds: exitCodes.notShown,
};
