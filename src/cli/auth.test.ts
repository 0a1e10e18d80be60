import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cli, startCli, tenantYaml } from './berth.fixture.js';
import { tokenConfig } from './token-config.fixture.js';

describe('berth auth', () => {
  let cli: Cli;
  let config: string;
  beforeAll(async () => {
    cli = await startCli();
    await cli.ok('apply -f -', { input: tenantYaml('fraud') });
    config = tokenConfig(cli, (await cli.ok('token create --tenant fraud --role editor')).trim());
  });
  afterAll(() => cli.close());
  const asEditor = (words: string) => cli.run([...words.split(' '), '--config', config]);

  it('can-i answers yes with 0, and no with 4 and the reason', async () => {
    const yes = { status: 0, stdout: 'yes\n', stderr: '' };
    expect(await cli.run('auth can-i delete tenants/fraud')).toEqual(yes);
    expect(await asEditor('auth can-i create workloads -n fraud')).toEqual(yes);
    expect(await asEditor('-n fraud auth can-i patch wl/score')).toEqual(yes);
    expect(await asEditor('auth can-i update wl -n fraud --subresource scale')).toEqual(yes);
    expect(await asEditor('auth can-i get tenant/fraud')).toEqual(yes);
    expect(await asEditor('auth can-i create wl -n default')).toEqual({
      status: 4,
      stdout: 'no\n',
      stderr: 'tenant fraud writes only in namespace fraud\n',
    });
    expect(await asEditor('auth can-i update wl -n fraud --subresource status')).toMatchObject({ status: 4 });
    expect(await asEditor('auth can-i get /metrics')).toMatchObject({ status: 4, stdout: 'no\n' });
    expect(await cli.run('auth can-i get /metrics')).toEqual(yes);
    expect(await cli.run('auth can-i create tokens')).toEqual(yes);
    expect(await asEditor('auth can-i create tokens')).toMatchObject({ status: 4, stdout: 'no\n' });
    const review = await asEditor('auth can-i list nodes -o json');
    expect(JSON.parse(review.stdout)).toMatchObject({ status: { allowed: true } });
  });

  it('can-i --list shows all that one may do in a namespace', async () => {
    const { stdout, status } = await asEditor('auth can-i --list -n fraud');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^WHAT +ONLY +VERBS\n/);
    expect(stdout).toMatch(/^workloads +get list watch update patch create delete deletecollection$/m);
    expect(stdout).toMatch(/^tenants +fraud +get list watch$/m);
    expect(stdout).toMatch(/^\/version +get$/m);
    expect(stdout).not.toContain('/metrics');
    expect((await asEditor('auth can-i --list -n default')).stdout).not.toContain('workloads');
  });

  it('whoami says who one is, for people and for programs', async () => {
    expect(await cli.ok('auth whoami')).toBe('admin\n');
    expect(JSON.parse((await asEditor('auth whoami -o json')).stdout)).toMatchObject({
      status: {
        userInfo: { username: 'tenant:fraud:editor', groups: ['berth:tenants', 'berth:role:editor'] },
      },
    });
  });

  it.each([
    { words: 'auth can-i', says: 'say what: berth auth can-i VERB KIND[/NAME]' },
    { words: 'auth can-i crate wl', says: 'Did you mean create?' },
    { words: 'auth can-i get workloadz', says: 'did you mean workloads?' },
    { words: 'auth can-i --list get', says: '--list shows everything: leave out get' },
  ])('answers $words with one clear message and exit code 64', async ({ words, says }) => {
    const ran = await cli.run(words);
    expect(ran).toMatchObject({ status: 64, stdout: '' });
    expect(ran.stderr).toContain(says);
  });
});
