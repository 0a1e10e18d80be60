import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { msBetween } from '../env/instant.js';
import { realEnv } from '../env/real.js';
import type { MutantResult, ScenarioReport, Shrunk } from '../main/simulate.js';
import { nearest } from '../model/nearest.js';
import { exitCodes } from './exit-codes.js';
import { outputOption } from './option-values.js';
import { formatTable } from './print-table.js';
import { print } from './terminal.js';

const wholeNumber = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is wanted.');
  return Number(text);
};

interface Flags {
  readonly scenario?: string;
  readonly seed?: number;
  readonly seeds: number;
  readonly from: number;
  readonly trace?: string;
  readonly shrink?: boolean;
  readonly mutants?: boolean;
  readonly only?: readonly string[];
  readonly list?: boolean;
  readonly output?: 'json';
}

export const simulateCommand = (): Command =>
  new Command('simulate')
    .description('run the control plane in a deterministic world that tries to break it')
    .option('--scenario <name>', 'only this scenario; all of them if left out')
    .option('--seed <n>', 'only this seed: the same history, byte for byte, each time', wholeNumber)
    .option('--seeds <n>', 'how many seeds of each scenario', wholeNumber, 20)
    .option('--from <n>', 'the first of them', wholeNumber, 0)
    .option('--trace <file>', 'write every event and every commit of a seed there (with --seed)')
    .option('--shrink', 'leave out faults of a failing seed for as long as it still fails (with --seed)')
    .option(
      '--mutants',
      'plant one defect at a time (a check that is off, a term of the fence left out, a controller that counts wrongly) and report which rule notices it, within --seeds (200)',
    )
    .option('--only <defect...>', 'only these defects, or groups of them such as fence (with --mutants)')
    .option('--list', 'list the scenarios')
    .addOption(outputOption(['json']))
    .action(async (flags: Flags, command: Command) => {
      const main = await import('../main/simulate.js');
      const say = (text: string): void => void process.stderr.write(`${text}\n`);
      if (flags.list === true) {
        if (flags.output === 'json')
          return print(
            JSON.stringify(
              main.scenarios.map(({ name, about }) => ({ name, about })),
              null,
              2,
            ),
          );
        return print(
          formatTable(
            ['SCENARIO', 'WHAT HAPPENS'],
            main.scenarios.map(({ name, about }) => [name, about]),
          ),
        );
      }
      if (flags.mutants === true) {
        const unknown = flags.only?.find((word) => main.mutantsNamed([word]).length === 0);
        if (unknown !== undefined) {
          const names = main.mutants.map(({ name }) => name);
          const near = nearest(unknown, names);
          const groups = [...new Set(names.map((name) => name.slice(0, name.indexOf('.'))))].toSorted();
          return command.error(
            `error: --only: there is no defect ${unknown}${near === undefined ? '' : `; did you mean ${near}?`} ` +
              `(groups of them: ${groups.join(', ')})`,
          );
        }
        const seedsMax = command.getOptionValueSource('seeds') === 'default' ? 200 : flags.seeds;
        const chosen = flags.only === undefined ? main.mutants : main.mutantsNamed(flags.only);
        return showMutants(main.tryMutants(chosen, seedsMax), flags.output, say);
      }
      const names = main.scenarios.map(({ name }) => name);
      const one = flags.scenario === undefined ? undefined : main.scenarioNamed(flags.scenario);
      if (flags.scenario !== undefined && one === undefined)
        return command.error(
          `error: there is no scenario ${flags.scenario}${suggestion(flags.scenario, names)}`,
        );
      if (
        (flags.shrink === true || flags.trace !== undefined) &&
        (one === undefined || flags.seed === undefined)
      )
        return command.error('error: --shrink and --trace are for one --scenario and one --seed');
      if (flags.shrink === true && one !== undefined)
        return showShrunk(
          await main.shrinkSeed(one, flags.seed ?? 0, (faults) => say(`trying with ${faults} faults`)),
          one.name,
          flags.seed ?? 0,
        );
      const seeds =
        flags.seed === undefined
          ? Array.from({ length: flags.seeds }, (_, index) => flags.from + index)
          : [flags.seed];
      // Kept and written at the end: in a simulated world nothing asynchronous of the real one runs.
      const trace: string[] = [];
      const reports: ScenarioReport[] = [];
      const { clock } = realEnv();
      const startedAt = clock.monotonic();
      for await (const report of main.simulate(one === undefined ? main.scenarios : [one], seeds, {
        // One seed cannot show everything.
        mayMiss: flags.seed !== undefined,
        onSeed: ({ scenario, seed }) => {
          if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${scenario}: seed ${seed}\r`);
        },
        ...(flags.trace !== undefined && { trace: (line: string) => void trace.push(line) }),
      })) {
        reports.push(report);
        if (flags.output !== 'json') showReport(report);
      }
      if (flags.trace !== undefined) writeFileSync(flags.trace, `${trace.join('\n')}\n`);
      const failed = reports.filter((report) => report.failed.length > 0 || report.missing.length > 0);
      const seconds = msBetween(startedAt, clock.monotonic()) / 1_000;
      if (flags.output === 'json') print(JSON.stringify({ seconds, reports }, null, 2));
      else {
        const count = reports.reduce((sum, report) => sum + report.seeds, 0);
        const virtualMs = reports.reduce((sum, report) => sum + report.virtualMs, 0);
        say(
          `${count} seeds in ${seconds.toFixed(1)} s (${Math.round((60 * count) / seconds)} a minute, ${Math.round(virtualMs / 1_000 / seconds)} virtual seconds a second): ${failed.length === 0 ? 'no rule was broken' : `${failed.length} scenarios failed`}`,
        );
      }
      process.exitCode = failed.length === 0 ? exitCodes.done : exitCodes.conditionFailed;
    });

const suggestion = (word: string, known: readonly string[]): string => {
  const near = nearest(word, known);
  return near === undefined ? `; berth simulate --list shows them` : `; did you mean ${near}?`;
};

const shownCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

function showReport(report: ScenarioReport): void {
  const {
    scenario,
    about,
    seeds,
    virtualMs,
    transactions,
    commits,
    refused,
    faults,
    checked,
    failed,
    missing,
  } = report;
  print(`${scenario}: ${about}`);
  print(
    `  ${seeds} seeds, ${Math.round(virtualMs / 1_000)} virtual seconds, ${transactions} transactions tried, ${commits} committed, ${refused} forbidden operations refused`,
  );
  print(`  faults: ${shownCounts(faults) || 'none'}`);
  print(`  checked: ${shownCounts(checked)}`);
  for (const name of missing) print(`  FAILED: ${name} never occurred, so nothing was shown of it`);
  for (const { seed, violations } of failed) {
    for (const { rule, revision, message } of violations)
      print(`  FAILED: seed ${seed}, ${rule} at revision ${revision}: ${message}`);
    print(`    again: berth simulate --scenario ${scenario} --seed ${seed}    fewer faults: … --shrink`);
  }
}

async function showMutants(
  results: AsyncIterable<MutantResult>,
  output: 'json' | undefined,
  say: (text: string) => void,
): Promise<void> {
  const all: MutantResult[] = [];
  for await (const result of results) {
    all.push(result);
    const caught =
      result.caughtBy === undefined
        ? `SURVIVED ${result.seeds} seeds`
        : `${result.caughtBy} after ${result.seeds} ${result.seeds === 1 ? 'seed' : 'seeds'} (${result.scenario} ${result.seed})`;
    if (output !== 'json')
      print(
        `${result.mutant.padEnd(26)} ${caught}${result.message === undefined ? '' : `: ${result.message.slice(0, 120)}`}`,
      );
  }
  if (output === 'json') print(JSON.stringify(all, null, 2));
  const survivors = all.filter(({ caughtBy }) => caughtBy === undefined);
  say(
    `${all.length} defects, ${all.length - survivors.length} noticed${survivors.length === 0 ? '' : `; nobody noticed ${survivors.map(({ mutant }) => mutant).join(', ')}`}`,
  );
  process.exitCode = survivors.length === 0 ? exitCodes.done : exitCodes.conditionFailed;
}

function showShrunk(shrunk: Shrunk | undefined, scenario: string, seed: number): void {
  if (shrunk === undefined) return print(`seed ${seed} of ${scenario} does not fail`);
  print(
    `${shrunk.rule} is broken with ${shrunk.plan.events.length} events and ${Object.keys(shrunk.plan.rates).length} kinds of call faults left (${shrunk.runs} runs): ${shrunk.message}`,
  );
  print(JSON.stringify(shrunk.plan, null, 2));
  process.exitCode = exitCodes.conditionFailed;
}
