import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Cli, startCli, tenantYaml, workloadYaml } from './berth.fixture.js';

describe('berth get', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
    const documents = [
      tenantYaml('fraud'),
      workloadYaml('score', 3, 'fraud'),
      workloadYaml('web', 1),
      workloadYaml('api', 20),
    ];
    await cli.ok('apply -f -', { input: documents.join('\n---') });
  });
  afterAll(() => cli.close());

  it('finds a kind by plural, singular, short name and Kind in any case, and prints the columns of the server', async () => {
    for (const word of ['workloads', 'workload', 'WL', 'Workload', 'workloads.berth.dev']) {
      const lines = (await cli.ok(`get ${word}`)).trim().split('\n');
      expect(lines[0]).toMatch(/^NAME +TYPE +DESIRED +READY +LIMITED-BY +AGE$/);
      expect(lines.slice(1).map((line) => line.split(/ +/)[0])).toEqual(['api', 'web']);
    }
    expect(await cli.ok('get wl web -o wide')).toMatch(/PRIORITY.*\n.*default/);
  });

  it('looks in the namespace that is named, before or after the command, or in all', async () => {
    expect(await cli.ok('-n fraud get wl -o name')).toBe('workload/score\n');
    expect(await cli.ok('get wl -n fraud -o name')).toBe('workload/score\n');
    expect(await cli.ok('get wl -A')).toMatch(
      /^NAMESPACE +NAME .*\ndefault +api .*\ndefault +web .*\nfraud +score /,
    );
    expect(await cli.run('get wl -n nowhere')).toEqual({
      status: 0,
      stdout: '',
      stderr: 'no workloads in namespace nowhere\n',
    });
  });

  it('prints data for programs: one object as itself, several as a List, none as an empty one', async () => {
    const one = JSON.parse(await cli.ok('get wl web -o json')) as { kind: string; metadata: object };
    expect(one).toMatchObject({ kind: 'Workload', spec: { replicas: 1 } });
    expect(one.metadata).not.toHaveProperty('managedFields');
    const list = parse(await cli.ok('get wl,tenants -o yaml')) as { items: { kind: string }[] };
    expect(list.items.map(({ kind }) => kind)).toEqual(['Workload', 'Workload', 'Tenant', 'Tenant']);
    expect(JSON.parse(await cli.ok('get gangs -o json'))).toMatchObject({ kind: 'List', items: [] });
  });

  it('takes several objects, several kinds and categories', async () => {
    expect(await cli.ok('get wl/web tenant/fraud -o name')).toBe('workload/web\ntenant/fraud\n');
    expect(await cli.ok('get wl web api -o name')).toBe('workload/web\nworkload/api\n');
    expect(await cli.ok('get tenants,regions')).toMatch(/tenant\/fraud[^]*\n\nNAME[^]*region\/local/);
    expect(await cli.ok('get all')).toMatch(/workload\/web/);
  });

  it('selects and sorts', async () => {
    expect(await cli.ok('get wl -l app=web -o name')).toBe('workload/web\n');
    expect(await cli.ok('get wl --field-selector metadata.name=api -o name')).toBe('workload/api\n');
    expect(await cli.ok('get wl --sort-by {.spec.replicas} -o name')).toBe('workload/web\nworkload/api\n');
  });

  it('shows every change with -w, of rows and of objects', async () => {
    const rows = cli.start('get wl web -w');
    const objects = cli.start('get wl -w -o name -l app=web');
    await expect.poll(() => rows.printed().split('\n').length).toBe(3);
    await expect.poll(objects.printed).toBe('workload/web\n');
    await cli.ok('apply -f -', { input: workloadYaml('web', 8) });
    await expect.poll(rows.printed).toMatch(/\nweb +Service +8 /);
    // The controllers change its status, too.
    await expect.poll(objects.printed).toMatch(/^(workload\/web\n){2,}$/);
    for (const { child } of [rows, objects]) child.kill('SIGTERM');
  });

  it.each([
    { words: 'get workloadz', status: 64, says: 'there is no kind "workloadz"; did you mean workloads?' },
    { words: 'get wl nope', status: 1, says: 'workloads.berth.dev "nope" not found' },
    { words: 'get wl web tenant/fraud', status: 64, says: 'where one word is KIND/NAME, all must be' },
    { words: 'get wl web -l app=web', status: 64, says: 'by name (web) and by selector (app=web); use one' },
    { words: 'get wl -o jsn', status: 64, says: 'Did you mean json?' },
    {
      words: 'get wl --sort-by .spec.replcas',
      status: 64,
      says: 'none of the objects has .spec.replcas; did you mean replicas?',
    },
    { words: 'get wl --sort-by .spec..x', status: 64, says: 'is not a path to a field at "..x"' },
    { words: 'get wl,tenants -w', status: 64, says: '-w follows one kind at a time' },
    { words: 'get wl -l ===', status: 1, says: '===' },
    { words: 'get', status: 64, says: 'missing required argument' },
  ])('answers `$words` with one clear message and exit code $status', async ({ words, status, says }) => {
    const ran = await cli.run(words);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(says);
    expect(ran.stderr).not.toContain('    at ');
  });
});
