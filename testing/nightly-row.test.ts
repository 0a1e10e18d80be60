import { describe, expect, it } from 'vitest';
import { NightlyRow } from './nightly-row.js';

const defect = { caughtBy: 'S3', message: 'm', scenario: 'swarm', seed: 12, seeds: 5 };
const report = {
  ...{ scenario: 'swarm', about: 'a', seeds: 100, virtualMs: 1, transactions: 1, commits: 1, refused: 0 },
  ...{ stale: {}, faults: {}, checked: {}, failed: [], missing: [] },
};
const broken = {
  ...report,
  failed: [{ seed: 9, violations: [{ rule: 'S5', revision: 3, message: 'two bindings' }] }],
};
const ended = (result: unknown, status = 0) => ({
  ...{ status, stderr: '', ms: 1_234 },
  stdout: JSON.stringify(result),
});

describe('a row of the nightly table', () => {
  it('runs one scenario or one defect from the same seed', () => {
    expect(new NightlyRow('scenario', 'swarm', { from: 7, seeds: 100 }).words.join(' ')).toBe(
      'simulate --scenario swarm --seeds 100 --from 7 -o json',
    );
    expect(new NightlyRow('defect', 'bind.uid', { from: 7 }).words.join(' ')).toBe(
      'simulate --mutants --only bind.uid --from 7 -o json',
    );
  });

  it('says which rule noticed a defect, and that none did', () => {
    const row = new NightlyRow('defect', 'bind.quota', { from: 7 });
    const others = [{ ...defect, mutant: 'bind.quota.other', caughtBy: 'S1' }];
    expect(row.row(ended([...others, { ...defect, mutant: 'bind.quota' }]))).toMatchObject({
      cells: ['defect', 'bind.quota', '5', '1.2s', 'noticed by S3 (swarm 12)'],
      isWell: true,
    });
    const survived = { ...defect, mutant: 'bind.quota', caughtBy: undefined, seeds: 200 };
    expect(row.row(ended([survived], 4))).toMatchObject({ isWell: false });
  });

  it('tells a broken rule, too few seeds and a process that never ended apart', () => {
    const row = new NightlyRow('scenario', 'swarm', { from: 7, seeds: 100 });
    expect(row.row(ended({ reports: [report] }))).toMatchObject({ isWell: true, details: [] });
    const failed = row.row(ended({ reports: [broken] }, 4));
    expect(failed.cells[4]).toBe('BROKEN');
    expect(failed.details.join('\n')).toContain('berth simulate --scenario swarm --seed 9');
    const short = row.row(ended({ reports: [{ ...report, missing: ['S9'] }] }, 5));
    expect(short.cells[4]).toBe('TOO FEW SEEDS');
    const endless = row.row({ status: null, stdout: '', stderr: '', ms: 1 });
    expect(endless).toMatchObject({ isWell: false });
    expect(endless.details[0]).toContain('did not end');
  });
});
