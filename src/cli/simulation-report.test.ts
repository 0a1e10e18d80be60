import { describe, expect, it } from 'vitest';
import {
  verdictOf,
  verdictOfAll,
  verdictOnMutant,
  type MutantResult,
  type ScenarioReport,
} from '../main/simulate.js';
import {
  exitCodeOf,
  mutantLine,
  mutantsSummary,
  scenarioLines,
  scenariosSummary,
} from './simulation-report.js';

const report: ScenarioReport = {
  scenario: 'swarm',
  about: 'everything at once',
  seeds: 1,
  virtualMs: 90_499.7,
  transactions: 20,
  commits: 10,
  refused: 2,
  stale: { 'bind.node': 3, 'attest.node': 1 },
  faults: { pause: 1, crash: 2 },
  checked: { S5: 4 },
  failed: [],
  missing: [],
};

const failed: ScenarioReport['failed'] = [
  {
    ...{ scenario: 'swarm', seed: 7, virtualMs: 1, transactions: 1, commits: 1, refused: 0, history: '' },
    stale: {},
    ...{ faults: {}, checked: {} },
    violations: [{ rule: 'S5', revision: 12, message: 'two bindings' }],
  },
];

const noticed: MutantResult = {
  ...{ mutant: 'bind.quota', caughtBy: 'S3', message: 'too much', scenario: 'swarm', seed: 4, seeds: 1 },
};
const unnoticed: MutantResult = {
  ...{ mutant: 'bind.uid', caughtBy: undefined, message: undefined, scenario: undefined, seed: undefined },
  seeds: 3,
};

describe('what berth simulate says of a scenario', () => {
  it('names a rule that never had anything to check as too few seeds, not as a failure', () => {
    const short = { ...report, missing: ['watch.cut'] };
    expect(verdictOf(short)).toBe('TooFewSeeds');
    expect(scenarioLines(short).at(-1)).toBe(
      '  TOO FEW SEEDS: watch.cut never occurred in 1 seed; run more with --seeds',
    );
    expect(scenarioLines(short).join('\n')).not.toContain('FAILED');
  });

  it('names a broken rule with its seed and how to run it again', () => {
    expect(verdictOf({ ...report, failed, missing: ['watch.cut'] })).toBe('Broken');
    expect(scenarioLines({ ...report, failed }).slice(-2)).toEqual([
      '  FAILED: seed 7, S5 at revision 12: two bindings',
      '    again: berth simulate --scenario swarm --seed 7    fewer faults: … --shrink',
    ]);
  });

  it('prints a violation once, however many seeds show it', () => {
    const [one] = failed;
    if (one === undefined) throw new Error('one failed');
    const twice = { ...one, violations: [...one.violations, ...one.violations] };
    expect(
      scenarioLines({ ...report, failed: [twice, { ...one, seed: 8 }, { ...one, seed: 9 }] }).slice(-2),
    ).toEqual([
      '  FAILED: seed 7 (also seeds 8, 9), S5 at revision 12: two bindings',
      '    again: berth simulate --scenario swarm --seed 7    fewer faults: … --shrink',
    ]);
  });

  it('rounds times and counts what was broken apart from what was not shown', () => {
    expect(scenarioLines(report)[1]).toContain('1 seed, 90 virtual seconds');
    expect(
      scenariosSummary(['Held', 'Broken', 'TooFewSeeds'], { seeds: 3, seconds: 1.234, virtualMs: 9_000 }),
    ).toBe(
      '3 seeds in 1.2s (146 a minute, 7 virtual seconds a second): a rule was broken in 1 scenario; too few seeds for 1 scenario',
    );
    expect(scenariosSummary(['Held'], { seeds: 2, seconds: 1, virtualMs: 0 })).toMatch(
      /: no rule was broken$/,
    );
  });

  it('ends with 4 for a broken rule and with 5 where nothing is broken and not everything shown', () => {
    expect(exitCodeOf[verdictOfAll(['Held', 'TooFewSeeds', 'Broken'])]).toBe(4);
    expect(exitCodeOf[verdictOfAll(['Held', 'TooFewSeeds'])]).toBe(5);
    expect(exitCodeOf[verdictOfAll(['Held'])]).toBe(0);
  });
});

describe('what berth simulate --mutants says of a defect', () => {
  it('says which rule noticed it and in which seed', () => {
    expect(verdictOnMutant(noticed)).toBe('Held');
    expect(mutantLine(noticed)).toBe('bind.quota                 S3 after 1 seed (swarm 4): too much');
  });

  it('tells a defect that 200 seeds do not show from one that got fewer', () => {
    expect(verdictOnMutant(unnoticed)).toBe('TooFewSeeds');
    expect(verdictOnMutant({ ...unnoticed, seeds: 200 })).toBe('Broken');
    expect(mutantLine(unnoticed)).toMatch(/^bind\.uid +NOT NOTICED in 3 seeds$/);
    expect(
      mutantsSummary(
        [noticed, unnoticed, { ...unnoticed, mutant: 'bind.gang', seeds: 200 }],
        verdictOnMutant,
      ),
    ).toBe('3 defects, 1 noticed; no rule noticed bind.gang; too few seeds for bind.uid');
  });
});
