import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Cli, startCli, tenantYaml } from './berth.fixture.js';
import { tokenConfig } from './token-config.fixture.js';

describe('berth token', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
    await cli.ok('apply -f -', { input: `${tenantYaml('fraud')}---${tenantYaml('shop')}` });
  });
  afterAll(() => cli.close());

  it('create prints the secret alone, with which commands then run; revoke ends it', async () => {
    const made = await cli.run('token create --tenant fraud --role editor --ttl 2h --description CI');
    expect(made.status).toBe(0);
    expect(made.stdout).toMatch(/^berth_[0-9a-f]{16}_\S{43}\n$/);
    expect(made.stderr).toMatch(/^token [0-9a-f]{16} for tenant:fraud:editor, until 20\S+Z\n$/);
    const id = made.stdout.split('_')[1] ?? '';
    const config = tokenConfig(cli, made.stdout.trim());
    expect(await cli.ok(['auth', 'whoami', '--config', config])).toBe('tenant:fraud:editor\n');
    expect(await cli.ok(['get', 'wl', '-n', 'fraud', '-o', 'name', '--config', config])).toBe('');

    const listed = await cli.ok('token list');
    expect(listed).toMatch(/^ID +IDENTITY +EXPIRES +CREATED BY +DESCRIPTION\n/);
    expect(listed).toMatch(new RegExp(`^${id} +tenant:fraud:editor +20\\S+Z +admin +CI$`, 'm'));
    expect(listed).not.toContain(made.stdout.trim());
    expect(await cli.ok(`token revoke ${id}`)).toBe(`token/${id} revoked\n`);
    const refused = await cli.run(['get', 'wl', '-n', 'fraud', '--config', config]);
    expect(refused).toMatchObject({ status: 77, stdout: '' });
    expect(refused.stderr).toContain('the bearer token is unknown or was revoked');
    expect(await cli.run(`token revoke ${id}`)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `error: tokens "${id}" not found\n`,
    });
  });

  it('create makes those of other identities too, and prints them for programs', async () => {
    for (const identity of ['admin', 'viewer', 'node:n1', 'controller:scheduler']) {
      const made = JSON.parse(await cli.ok(`token create --identity ${identity} -o json`)) as {
        spec: object;
        status: { token: string };
      };
      expect(made.spec).toEqual({ identity });
      const config = tokenConfig(cli, made.status.token);
      expect(await cli.ok(['auth', 'whoami', '--config', config])).toBe(`${identity}\n`);
    }
  });

  it('list shows those of one tenant, and an owner only its own', async () => {
    const owner = (await cli.ok('token create --tenant shop --role owner')).trim();
    const config = tokenConfig(cli, owner);
    const mine = await cli.ok(['token', 'create', '--tenant', 'shop', '--config', config]);
    expect(mine).toMatch(/^berth_/);
    const names = await cli.ok(['token', 'list', '-o', 'name', '--config', config]);
    expect(names.trim().split('\n')).toHaveLength(2);
    expect(await cli.ok('token list --tenant shop -o name')).toBe(names);
    const list = parse(await cli.ok('token list --tenant shop -o yaml')) as { items: { spec: object }[] };
    expect(list.items.map(({ spec }) => spec)).toEqual([
      { identity: 'tenant:shop:owner' },
      { identity: 'tenant:shop:viewer' },
    ]);
    expect(await cli.run('token list --tenant nobody')).toEqual({
      status: 0,
      stdout: '',
      stderr: 'no tokens\n',
    });
    const denied = await cli.run(['token', 'create', '--tenant', 'fraud', '--config', config]);
    expect(denied).toMatchObject({ status: 77, stdout: '' });
    expect(denied.stderr).toContain("manages only that tenant's tokens");
  });

  it.each([
    { words: 'token create', status: 64, says: 'say for whom the token is: --tenant NAME' },
    { words: 'token create --tenant a --identity admin', status: 64, says: 'say for whom' },
    { words: 'token create --tenant fraud --role editer', status: 64, says: 'Did you mean editor?' },
    { words: 'token create --tenant fraud --ttl soon', status: 64, says: '"soon" is not a duration' },
    { words: 'token create --tenant nobody', status: 1, says: 'there is no tenant "nobody"' },
    { words: 'token create --identity root', status: 1, says: '"root" is not an identity; allowed are' },
    { words: 'token revok x', status: 64, says: 'Did you mean revoke?' },
  ])('answers $words with one clear message', async ({ words, status, says }) => {
    const ran = await cli.run(words);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(says);
    expect(ran.stderr).not.toContain('    at ');
  });
});
