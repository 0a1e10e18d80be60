import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../testing/run-process.js';
import { readKubeconfig } from '../client/client.js';
import { type Cli, program, startBerth, startCli } from './berth.fixture.js';

describe('commands about the server and the settings', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('info says which server this is, who asks, and how much it holds', async () => {
    const info = JSON.parse(await cli.ok('info -o json')) as {
      objects: Record<string, number>;
      cell: string;
    };
    expect(info).toMatchObject({
      server: cli.server.url,
      config: cli.server.kubeconfig,
      user: 'admin',
      namespace: 'default',
    });
    expect(info.objects).toMatchObject({ tenants: 1, regions: 1, workloads: 0 });
    expect(info.cell).toMatch(/^[\da-f-]{36}$/);
    const text = await cli.ok('info');
    expect(text).toMatch(/^server: +https:\/\/127\.0\.0\.1:\d+\n/);
    expect(text).toMatch(/\ntenants +1\n/);
  });

  it('api-resources lists the kinds', async () => {
    expect(await cli.ok('api-resources')).toMatch(/\nworkloads +wl +berth\.dev\/v1 +true +Workload\n/);
    expect((await cli.ok('api-resources -o name')).split('\n')).toContain('events');
  });

  it('version tells that of the server too, and is content without one', async () => {
    expect(await cli.ok('version')).toMatch(/^berth \S+ \(node \S+\)\nserver 0\.0\.0\n$/);
    expect(JSON.parse(await cli.ok('version -o json'))).toMatchObject({ server: '0.0.0' });
    const alone = await startBerth(['version'], { cwd: cli.dir }).ended;
    expect(alone).toMatchObject({ status: 0, stderr: '' });
    expect(alone.stdout.split('\n')).toHaveLength(2);
  });

  it('config shows no secret, and changes the file in place, for its owner alone', async () => {
    const view = await cli.ok('config view');
    expect(view).toContain(cli.server.url);
    expect(view).toContain('client-key-data: REDACTED');
    expect(view).not.toMatch(/LS0tLS1CRUdJTi/);
    expect(await cli.ok('config current-context')).toBe('berth\n');
    const before = ['--config', cli.server.kubeconfig, 'config', 'current-context'];
    expect(await cli.ok(before, { env: { BERTH_CONFIG: 'nowhere' } })).toBe('berth\n');
    await cli.ok('config set-context --current --namespace fraud');
    expect(await cli.ok('config get-contexts')).toMatch(/\n\* +berth +berth +admin +fraud\n/);
    expect((await cli.run('get wl')).stderr).toBe('no workloads in namespace fraud\n');
    await cli.ok('config set-context berth --namespace default');
    await cli.ok('config use-context berth');
    expect(statSync(cli.server.kubeconfig).mode & 0o777).toBe(0o600);
    const wrong = await cli.run('config use-context bert');
    expect(wrong).toMatchObject({ status: 64, stdout: '' });
    expect(wrong.stderr).toMatch(/has no context "bert"; did you mean berth\?\n$/);
    expect((await cli.run('config viev')).stderr).toContain('Did you mean view?');
    expect((await cli.run('config set-context')).stderr).toContain('--namespace NAME is needed');
  });

  it('config set-servers names several servers, and keeps comments and other extensions', async () => {
    const file = cli.write(
      'several.yaml',
      `# of our team
current-context: here
contexts: [{ name: here, context: { cluster: c, user: u } }]
clusters:
  - name: c
    cluster: { server: "https://a:1", extensions: [{ name: other, extension: { x: 1 } }] }
users: [{ name: u, user: { token: t } }]
`,
    );
    const set = (urls: string): Promise<string> => cli.ok(`config set-servers ${urls} --config ${file}`);
    expect(await set('https://b:1,https://c:1')).toBe('cluster c: https://b:1, https://c:1\n');
    expect(await readKubeconfig({ path: file })).toMatchObject({
      url: 'https://b:1',
      otherUrls: ['https://c:1'],
    });
    await set('https://d:1');
    expect(await readKubeconfig({ path: file })).toMatchObject({ url: 'https://d:1' });
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('# of our team');
    expect(text).toMatch(/name: other/);
    expect(text.match(/berth\.dev\/servers/g)).toHaveLength(1);
    expect(await cli.run(`config set-servers http://b --config ${file}`)).toMatchObject({ status: 64 });
  });

  it('completes commands, options, kinds and names, in bash too', async () => {
    const complete = async (...words: string[]): Promise<string[]> =>
      (await cli.ok(['__complete', '--', ...words])).split('\n').slice(0, -1);
    expect(await complete('des')).toEqual(['describe']);
    expect(await complete('get', '--sel')).toEqual(['--selector']);
    expect(await complete('get', 'ten')).toEqual(['tenants', 'tenantledgers']);
    expect(await complete('get', 'tenant', '')).toEqual(['default']);
    expect(await complete('get', 'region/')).toEqual(['region/local']);
    expect(await complete('get', '-n', 'd')).toEqual(['default']);
    expect(await complete('config', 'use')).toEqual(['use-context']);
    expect(await complete('nonsense', 'x')).toEqual([]);
    const script = cli.write('completion.bash', await cli.ok('completion bash'));
    const asked = `. "$0"; berth() { "${process.execPath}" "${program}" "$@"; }; COMP_WORDS=(berth descr); COMP_CWORD=1; _berth; echo "\${COMPREPLY[@]}"`;
    const ran = await run('bash', ['-c', asked, script]);
    expect(ran).toMatchObject({ stdout: 'describe\n', stderr: '' });
    for (const shell of ['zsh', 'fish'])
      expect(await cli.ok(`completion ${shell}`)).toContain('berth __complete');
  });

  it('uses what `berth up` wrote in this directory where nothing else is named', async () => {
    const none = await startBerth(['get', 'tenants'], { cwd: cli.dir }).ended;
    expect(none).toMatchObject({ status: 64, stdout: '' });
    expect(none.stderr).toMatch(/^error: no server is named: .*berth-data\/kubeconfig.*berth up\n$/);
    const beside = await startBerth(['get', 'tenants', '-o', 'name', '--config', cli.server.kubeconfig], {
      cwd: cli.dir,
    }).ended;
    expect(beside.stdout).toBe('tenant/default\n');
    const missing = await cli.run(['get', 'tenants', '--config', join(cli.dir, 'nope')]);
    expect(missing).toMatchObject({ status: 64, stdout: '' });
    expect((await cli.run('get tenants --context nope')).stderr).toContain(
      'contexts has no entry named "nope"',
    );
  });
});
