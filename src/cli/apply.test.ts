import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cli, startCli, tenantYaml, workloadYaml } from './berth.fixture.js';

describe('berth apply and berth diff', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('creates what is not there, tenants first, and tells created, unchanged and configured apart', async () => {
    // The workload stands before its tenant, and in JSON.
    const workload = JSON.stringify({
      apiVersion: 'berth.dev/v1',
      kind: 'Workload',
      metadata: { name: 'score', namespace: 'first' },
      spec: { type: 'Service', replicas: 1, template: { run: { process: { command: ['x'] } } } },
    });
    const file = cli.write('first.yaml', `${workload}\n---\n${tenantYaml('first')}`);
    expect(await cli.ok(['apply', '-f', file, '--dry-run'])).toBe(
      'tenant/first created (dry run)\nworkload/score created (dry run; not checked, its tenant is not there yet)\n',
    );
    expect(await cli.ok(['apply', '-f', file])).toBe('tenant/first created\nworkload/score created\n');
    expect(await cli.ok(['apply', '-f', file])).toBe('tenant/first unchanged\nworkload/score unchanged\n');
    cli.write(
      'first.yaml',
      `${workload.replace('"replicas":1', '"replicas":2')}\n---\n${tenantYaml('first')}`,
    );
    expect(await cli.ok(['apply', '-f', file])).toBe('tenant/first unchanged\nworkload/score configured\n');
    const object = JSON.parse(await cli.ok('get wl score -n first -o json')) as {
      spec: { replicas: number };
    };
    expect(object.spec.replicas).toBe(2);
  });

  it('goes on after an error, says where in which file each stands, and ends with 1', async () => {
    const dir = join(cli.dir, 'manifests');
    mkdirSync(join(dir, 'deep'), { recursive: true });
    cli.write('manifests/a.yaml', `${workloadYaml('bad', -1)}---${workloadYaml('good', 1)}`);
    cli.write('manifests/b.yaml', 'kind: [');
    cli.write('manifests/c.json', '{"apiVersion":"berth.dev/v1","kind":"Wrokload","metadata":{"name":"x"}}');
    cli.write('manifests/d.yml', '---\n---\nkind: Workload\napiVersion: berth.dev/v1\nmetadata: {}\n');
    cli.write('manifests/e.txt', 'not a manifest');
    cli.write('manifests/deep/f.yaml', workloadYaml('deep', 1));
    const ran = await cli.run(['apply', '-f', dir]);
    expect(ran).toMatchObject({ status: 1, stdout: 'workload/good created\n' });
    expect(ran.stderr).toMatch(/a\.yaml:2: workload\/bad: .*spec\.replicas/);
    expect(ran.stderr).toMatch(/b\.yaml:1:\d+: /);
    expect(ran.stderr).toMatch(/c\.json:1: there is no kind "Wrokload"; did you mean Workload\?/);
    expect(ran.stderr).toMatch(/d\.yml:3: metadata\.name is missing/);
    expect((await cli.run(['apply', '-R', '-f', join(dir, 'deep'), '-f', join(dir, 'a.yaml')])).stdout).toBe(
      'workload/deep created\nworkload/good unchanged\n',
    );
  });

  it('refuses to take what another owns, until it is told to', async () => {
    await cli.ok('apply -f -', { input: workloadYaml('owned', 1) });
    await cli.server.send(
      'PATCH',
      '/apis/berth.dev/v1/namespaces/default/workloads/owned?fieldManager=somebody&force=true',
      { headers: { 'content-type': 'application/apply-patch+yaml' }, body: workloadYaml('owned', 5) },
    );
    const ran = await cli.run('apply -f -', { input: workloadYaml('owned', 2) });
    expect(ran.status).toBe(1);
    expect(ran.stderr).toMatch(/somebody.*replicas.*; --force-conflicts takes over what others own\n$/s);
    expect(await cli.ok('apply -f - --force-conflicts', { input: workloadYaml('owned', 2) })).toBe(
      'workload/owned configured\n',
    );
  });

  it('prunes the objects of a set that are no longer there, and nothing else', async () => {
    const both = `${tenantYaml('pruned')}---${workloadYaml('one', 1, 'pruned')}---${workloadYaml('two', 1, 'pruned')}`;
    const less = `${tenantYaml('pruned')}---${workloadYaml('two', 1, 'pruned')}`;
    await cli.ok('apply -f - --set shop', { input: both });
    await cli.ok('apply -f - --set other', { input: workloadYaml('three', 1, 'pruned') });
    await cli.ok('apply -f -', { input: workloadYaml('four', 1, 'pruned') });
    const broken = await cli.run('apply -f - --set shop --prune', { input: `${less}---\nkind: [` });
    expect(broken).toMatchObject({ status: 1 });
    expect(broken.stderr).toContain('nothing is pruned after errors');
    expect(await cli.ok('apply -f - --set shop --prune --dry-run', { input: less })).toContain(
      'workload/one pruned (dry run)\n',
    );
    expect(await cli.ok('get wl -n pruned -o name')).toContain('workload/one\n');
    expect(await cli.ok('apply -f - --set shop --prune', { input: less })).toBe(
      'tenant/pruned unchanged\nworkload/two unchanged\nworkload/one pruned\n',
    );
    expect(await cli.ok('get wl -n pruned -o name')).toBe('workload/four\nworkload/three\nworkload/two\n');
    expect(await cli.run('apply -f - --prune', { input: less })).toMatchObject({ status: 64, stdout: '' });
    expect((await cli.run(['apply', '-f', '-', '--set', 'a b'])).stderr).toContain('--set "a b": up to 63');
  });

  it('diff shows what apply would change: 0 for nothing, 1 for changes, 2 for an error', async () => {
    const before = cli.write('diff.yaml', workloadYaml('diffed', 1));
    expect(await cli.run(['diff', '-f', before])).toMatchObject({ status: 1, stderr: '' });
    expect((await cli.run('get wl diffed')).status).toBe(1);
    await cli.ok(['apply', '-f', before]);
    expect(await cli.run(['diff', '-f', before])).toEqual({ status: 0, stdout: '', stderr: '' });
    const changed = await cli.run('diff -f -', { input: workloadYaml('diffed', 4) });
    expect(changed.status).toBe(1);
    expect(changed.stdout).toMatch(
      /^--- live\/default\/workload\/diffed\n\+\+\+ applied\/default\/workload\/diffed\n@@ [^]*\n-  replicas: 1\n\+  replicas: 4\n/,
    );
    expect(await cli.run('diff -f -', { input: workloadYaml('diffed', -4) })).toMatchObject({
      status: 2,
      stdout: '',
    });
    expect(await cli.run('diff -f nowhere.yaml')).toMatchObject({ status: 64 });
  });
});
