import { scenarioLines } from '../src/cli/simulation-report.js';
import { type MutantResult, type ScenarioReport, verdictOf, verdictOnMutant } from '../src/main/simulate.js';

/** One line of the table, and what has to be read below it. */
export interface Row {
  readonly cells: readonly [what: string, name: string, seeds: string, time: string, result: string];
  readonly details: readonly string[];
  readonly isWell: boolean;
}

/** How a process of `berth simulate` ended. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

type What = 'scenario' | 'defect';
type Result = Omit<Row, 'cells'> & { readonly seeds: string; readonly result: string };

/** One scenario or one planted defect of a nightly run: how it is run, and what its result says. */
export class NightlyRow {
  readonly words: readonly string[];

  constructor(
    readonly what: What,
    readonly name: string,
    range: { readonly from: number; readonly seeds?: number },
  ) {
    const chosen = what === 'scenario' ? ['--scenario', name] : ['--mutants', '--only', name];
    const seeds = range.seeds === undefined ? [] : ['--seeds', String(range.seeds)];
    this.words = ['simulate', ...chosen, ...seeds, '--from', String(range.from), '-o', 'json'];
  }

  row(ended: Ended): Row {
    const { seeds, result, details, isWell } = this.#read(ended);
    const time = `${(ended.ms / 1_000).toFixed(1)}s`;
    return { cells: [this.what, this.name, seeds, time, result], details, isWell };
  }

  #read({ status, stdout, stderr }: Ended): Result {
    if (stdout === '') {
      const result = status === null ? 'did not end' : `ended with ${status}`;
      const again = `berth ${this.words.join(' ')}`;
      return { seeds: '-', result, details: [`${this.name}: ${result}: ${again}`, stderr], isWell: false };
    }
    return this.what === 'scenario' ? scenarioResult(stdout) : this.#defectResult(stdout);
  }

  // `--only bind.quota` means every defect whose name begins so: the row is about the one of this very name.
  #defectResult(stdout: string): Result {
    const found = (JSON.parse(stdout) as MutantResult[]).find(({ mutant }) => mutant === this.name);
    if (found === undefined) throw new Error(`no result for ${this.name} in ${stdout.slice(0, 200)}`);
    const isWell = verdictOnMutant(found) === 'Held';
    return {
      seeds: String(found.seeds),
      result: isWell ? `noticed by ${found.caughtBy} (${found.scenario} ${found.seed})` : 'NOT NOTICED',
      details: [],
      isWell,
    };
  }
}

function scenarioResult(stdout: string): Result {
  const { reports } = JSON.parse(stdout) as { readonly reports: readonly ScenarioReport[] };
  const [report] = reports;
  if (report === undefined) throw new Error(`no report in ${stdout.slice(0, 200)}`);
  const verdict = verdictOf(report);
  const isWell = verdict === 'Held';
  const result = { Held: 'no rule broken', Broken: 'BROKEN', TooFewSeeds: 'TOO FEW SEEDS' }[verdict];
  return {
    seeds: String(report.seeds),
    result,
    details: isWell ? [] : scenarioLines(report),
    isWell,
  };
}
