import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { msBetween } from '../env/instant.js';
import { realEnv } from '../env/real.js';
import type { MutantResult, ScenarioReport, Shrunk } from '../main/simulate.js';
import { nearest } from '../model/nearest.js';
import { exitCodes } from './exit-codes.js';
import { outputOption } from './option-values.js';
import { formatTable } from './print-table.js';
import {
  exitCodeOf,
  mutantLine,
  mutantsSummary,
  scenarioLines,
  scenariosSummary,
} from './simulation-report.js';
import { print } from './terminal.js';

const wholeNumber = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('write a whole number of up to nine digits.');
  return Number(text);
};

// Seeds have up to nine digits: a range that is drawn stays within them.
const freshBelow = 999_000_000;

interface Flags {
  readonly scenario?: string;
  readonly seed?: number;
  readonly seeds: number;
  readonly from: number;
  readonly fresh?: boolean;
  readonly trace?: string;
  readonly shrink?: boolean;
  readonly mutants?: boolean;
  readonly only?: readonly string[];
  readonly list?: boolean;
  readonly output?: 'json';
}

export const simulateCommand = (): Command =>
  new Command('simulate')
    .description('run the control plane in a deterministic world that injects faults and checks every rule')
    .option('--scenario <name>', 'run only this scenario (default: all)')
    .option('--seed <n>', 'run only this seed: the same history, byte for byte, each time', wholeNumber)
    .option('--seeds <n>', 'number of seeds of each scenario', wholeNumber, 20)
    .option('--from <n>', 'first seed', wholeNumber, 0)
    .option('--fresh', 'draw the first seed at random, and print it')
    .option('--trace <file>', 'write every event and every commit of a seed to a file (with --seed)')
    .option('--shrink', 'remove faults from a failing seed for as long as it still fails (with --seed)')
    .option(
      '--mutants',
      'plant one defect at a time (a check that is off, a term of the fence left out, a controller that counts wrongly, a duration that is wrong) and report which rule notices it, within --seeds (default: 200)',
    )
    .option('--only <defect...>', 'try only these defects, or groups of them such as fence (with --mutants)')
    .option('--list', 'list the scenarios; with --mutants the defects')
    .addOption(outputOption(['json']))
    .action(async (flags: Flags, command: Command) => {
      const main = await import('../main/simulate.js');
      const say = (text: string): void => void process.stderr.write(`${text}\n`);
      if (flags.list === true && flags.mutants === true) {
        const names = main.mutants.map(({ name }) => name);
        return print(flags.output === 'json' ? JSON.stringify(names, null, 2) : names.join('\n'));
      }
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
      if (flags.fresh === true && (flags.seed !== undefined || flags.from !== 0))
        return command.error('error: --fresh draws the first seed itself: leave out --seed and --from');
      const from = flags.fresh === true ? realEnv().random.integer(freshBelow) : flags.from;
      if (flags.fresh === true) say(`first seed ${from}`);
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
        const seedsMax =
          command.getOptionValueSource('seeds') === 'default' ? main.mutantSeedsMax : flags.seeds;
        const chosen = flags.only === undefined ? main.mutants : main.mutantsNamed(flags.only);
        const results: MutantResult[] = [];
        for await (const result of main.tryMutants(chosen, { seedsMax, from })) {
          results.push(result);
          if (flags.output !== 'json') print(mutantLine(result));
        }
        if (flags.output === 'json') print(JSON.stringify(results, null, 2));
        say(mutantsSummary(results, main.verdictOnMutant));
        process.exitCode = exitCodeOf[main.verdictOfAll(results.map(main.verdictOnMutant))];
        return;
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
          ? Array.from({ length: flags.seeds }, (_, index) => from + index)
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
        if (flags.output !== 'json') print(scenarioLines(report).join('\n'));
      }
      if (flags.trace !== undefined) writeFileSync(flags.trace, `${trace.join('\n')}\n`);
      const seconds = msBetween(startedAt, clock.monotonic()) / 1_000;
      const verdicts = reports.map(main.verdictOf);
      if (flags.output === 'json') print(JSON.stringify({ seconds, reports }, null, 2));
      else {
        const virtualMs = reports.reduce((sum, report) => sum + report.virtualMs, 0);
        const count = reports.reduce((sum, report) => sum + report.seeds, 0);
        say(scenariosSummary(verdicts, { seeds: count, seconds, virtualMs }));
      }
      process.exitCode = exitCodeOf[main.verdictOfAll(verdicts)];
    });

const suggestion = (word: string, known: readonly string[]): string => {
  const near = nearest(word, known);
  return near === undefined ? `; berth simulate --list shows them` : `; did you mean ${near}?`;
};

function showShrunk(shrunk: Shrunk | undefined, scenario: string, seed: number): void {
  if (shrunk === undefined) return print(`seed ${seed} of ${scenario} does not fail`);
  print(
    `${shrunk.rule} is broken with ${shrunk.plan.events.length} events and ${Object.keys(shrunk.plan.rates).length} kinds of call faults left (${shrunk.runs} runs): ${shrunk.message}`,
  );
  print(JSON.stringify(shrunk.plan, null, 2));
  process.exitCode = exitCodes.conditionFailed;
}
