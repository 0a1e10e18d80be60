import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixturePath, type Ran, run } from '../../testing/run-process.js';

const simulate = (...words: string[]): Promise<Ran> =>
  run(process.execPath, [fixturePath(import.meta.url, 'berth.js'), 'simulate', ...words]);

describe('berth simulate', () => {
  it('lists its scenarios, and suggests the nearest to a name that is none of them', async () => {
    expect((await simulate('--list')).stdout).toContain('002-drain-race');
    const ran = await simulate('--scenario', '002-drian-race');
    expect(ran).toMatchObject({ status: 64, stdout: '' });
    expect(ran.stderr).toContain('did you mean 002-drain-race?');
  });

  it('tells per scenario what was run, what went wrong and what was checked', async () => {
    const ran = await simulate('--scenario', '004-matrix-1', '--seeds', '3', '-o', 'json');
    expect(ran.status).toBe(0);
    const { reports } = JSON.parse(ran.stdout) as {
      reports: {
        seeds: number;
        transactions: number;
        checked: Record<string, number>;
        faults: Record<string, number>;
      }[];
    };
    expect(reports).toMatchObject([{ scenario: '004-matrix-1', seeds: 3, failed: [], missing: [] }]);
    expect(reports[0]?.transactions).toBeGreaterThan(100);
    expect(reports[0]?.checked['S5']).toBeGreaterThan(0);
    expect(reports[0]?.faults['network.replyLost']).toBeGreaterThan(0);
  }, 60_000);

  it('ends with 5 if no rule was broken and the seeds were too few to show everything', async () => {
    const ran = await simulate('--scenario', '000-orphan-reservation', '--seeds', '1', '--from', '1');
    expect(ran).toMatchObject({ status: 5 });
    expect(ran.stdout).toContain('TOO FEW SEEDS: ');
    expect(ran.stdout).not.toContain('FAILED');
  }, 60_000);

  it('draws other seeds each time with --fresh, and prints the first', async () => {
    const fresh = async (): Promise<string | undefined> => {
      const ran = await simulate('--scenario', '003-gpu-flow', '--seeds', '1', '--fresh');
      return /^first seed (\d+)$/m.exec(ran.stderr)?.[1];
    };
    const drawn = await Promise.all([fresh(), fresh()]);
    expect(new Set(drawn).size).toBe(2);
    expect(drawn).not.toContain(undefined);
    expect(await simulate('--fresh', '--seed', '3')).toMatchObject({ status: 64 });
  }, 60_000);

  it('writes the same trace for the same seed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'berth-trace-'));
    const traces = await Promise.all(
      ['a', 'b'].map(async (name) => {
        await simulate('--scenario', '004-matrix-1', '--seed', '5', '--trace', join(dir, name));
        return readFileSync(join(dir, name));
      }),
    );
    expect(traces[0]?.length).toBeGreaterThan(10_000);
    expect(traces[0]?.equals(traces[1] as Buffer)).toBe(true);
    rmSync(dir, { recursive: true });
  }, 60_000);

  it('puts one defect in and says who noticed', async () => {
    const ran = await simulate('--mutants', '--only', 'bind.quota', 'fence.kill', '--seeds', '6');
    expect(ran).toMatchObject({ status: 0 });
    expect(ran.stdout).toMatch(/^bind\.quota +S3 after \d+ seeds?/);
    expect(ran.stdout).toMatch(/^fence\.kill +S5 after \d+ seeds?/m);
  }, 60_000);

  it('ends with 5 if too few seeds were run to notice a defect, and with 64 if there is no such defect', async () => {
    // One seed that has nothing to do with the grace.
    const ran = await simulate('--mutants', '--only', 'fence.grace', '--seeds', '1');
    expect(ran).toMatchObject({ status: 5 });
    expect(ran.stderr).toContain('too few seeds for fence.grace');
    const unknown = await simulate('--mutants', '--only', 'fence.drit');
    expect(unknown).toMatchObject({ status: 64 });
    expect(unknown.stderr).toContain('did you mean fence.drift?');
  }, 60_000);

  it('says how --trace and --shrink are used', async () => {
    expect(await simulate('--shrink')).toMatchObject({ status: 64 });
  });
});
