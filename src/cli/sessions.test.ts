import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type SessionNode, startSessionNode } from '../main/session-node.fixture.js';
import { type Cli, startCli, tenantYaml, workloadYaml } from './berth.fixture.js';

const soon = { timeout: 60_000, interval: 100 };

describe('berth logs, exec and cp', { timeout: 120_000 }, () => {
  let cli: Cli;
  let node: SessionNode;
  beforeAll(async () => {
    cli = await startCli();
    node = await startSessionNode({
      node: 'n1',
      kubeconfig: await cli.server.kubeconfigFor({ kind: 'node', node: 'n1' }),
      dir: join(cli.dir, 'logs'),
    });
    await cli.ok(['apply', '-f', cli.write('web.yaml', workloadYaml('web', 2))]);
    await vi.waitUntil(() => node.isRunning('web-0-1') && node.isRunning('web-1-1'), soon);
    for (const [replica, execution, text] of [
      ['web-0-1', 1, 'first start\n'],
      ['web-0-1', 2, 'one\ntwo\nthree'],
      ['web-1-1', 1, 'other\n'],
    ] as const) {
      const log = await node.log(replica, execution);
      log.write('stdout', Buffer.from(text));
      await log.close();
    }
  }, 120_000);
  afterAll(async () => {
    await node.close();
    await cli.close();
  });

  it('shows the log of a replica byte for byte, a tail of it, and the execution before', async () => {
    expect(await cli.ok('logs web-0-1')).toBe('one\ntwo\nthree');
    expect(await cli.ok('logs replica/web-0-1 --tail 2')).toBe('two\nthree');
    expect(await cli.ok('logs web-0-1 --previous')).toBe('first start\n');
    expect(await cli.ok('logs web-0-1 --since 1h')).toBe('one\ntwo\nthree');
    expect(await cli.ok('logs web-0-1 --since 0s')).toBe('');
    expect(await cli.ok('logs web-1-1 --timestamps')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z other\n$/);
    const [record] = (await cli.ok('logs web-1-1 -o json')).split('\n');
    expect(JSON.parse(record ?? '')).toMatchObject({
      ...{ stream: 'stdout', message: 'other', tenant: 'default', workload: 'web', replica: 'web-1-1' },
      ...{ slot: '1', execution: 1, node: 'n1' },
    });
  });

  it('shows the logs of all replicas of a workload, each line with whose it is', async () => {
    expect((await cli.ok('logs workload/web')).split('\n')).toEqual([
      ...['web-0-1 | one', 'web-0-1 | two', 'web-0-1 | three', 'web-1-1 | other', ''],
    ]);
  });

  it('top shows what the node tells of replicas, to whoever may read them', async () => {
    const rows = async (words: string, config?: string): Promise<string[]> => {
      const ran = await cli.run(words, config === undefined ? {} : { env: { BERTH_CONFIG: config } });
      const [, ...lines] = ran.stdout.trim().split('\n');
      return [String(ran.status), ...lines.map((line) => line.split(/ {2,}/).slice(0, -1).join(' '))];
    };
    const told = ['web-0-1 n1 - - 3 1', 'web-1-1 n1 - - 3 1'];
    await expect.poll(() => rows('top'), soon).toEqual(['0', ...told]);
    expect(await rows('top web-1-1')).toEqual(['0', told[1]]);
    await cli.ok(['apply', '-f', cli.write('fraud.yaml', tenantYaml('fraud'))]);
    const viewer = await cli.server.kubeconfigFor({ kind: 'viewer' });
    expect(await rows('top -n default', viewer)).toEqual(['0', ...told]);
    const stranger = await cli.server.kubeconfigFor({ kind: 'tenant', tenant: 'fraud', role: 'owner' });
    expect(await rows('top -n default', stranger)).toEqual(['77']);
    expect((await cli.run('top -A', { env: { BERTH_CONFIG: stranger } })).stdout).toBe('');
  });

  it('gives the log to any client as text', async () => {
    const path = '/apis/berth.dev/v1/namespaces/default/replicas/web-0-1/log';
    expect(await cli.server.send('GET', `${path}?tailLines=1`)).toMatchObject({ status: 200, text: 'three' });
    for (const [query, status] of [
      ['tailLines=x', 400],
      ['sinceTime=yesterday', 400],
      ['format=xml', 400],
    ] as const)
      expect((await cli.server.send('GET', `${path}?${query}`)).status).toBe(status);
    expect((await cli.server.send('DELETE', path)).status).toBe(405);
    expect((await cli.server.send('GET', path.replace('/log', '/exec'))).status).toBe(400);
  });

  it('follows a log as it is written, until the replica is over', async () => {
    const following = cli.start('logs -f web-1-1');
    await vi.waitFor(() => expect(following.printed()).toBe('other\n'), soon);
    const log = await node.log('web-1-1', 1);
    log.write('stdout', Buffer.from('more\n'));
    await log.drained();
    await vi.waitFor(() => expect(following.printed()).toBe('other\nmore\n'), soon);
    log.write('stderr', Buffer.from('end\n'));
    await log.close();
    node.finish('web-1-1');
    expect(await following.ended).toMatchObject({ status: 0, stdout: 'other\nmore\nend\n' });
  });

  it('runs a command beside a replica, with its input, and ends as it ends', async () => {
    expect(await cli.run(['exec', 'web-0-1', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])).toEqual({
      ...{ status: 7, stdout: 'out\n', stderr: 'err\n' },
    });
    expect(await cli.ok('exec -i web-0-1 -- cat', { input: 'typed\n' })).toBe('typed\n');
    // Without -i there is nothing to read, and the command is told so.
    expect(await cli.ok('exec web-0-1 -- cat', { input: 'typed\n' })).toBe('');
    const missing = await cli.run('exec web-0-1 -- /no/such/program');
    expect(missing).toMatchObject({ status: 1, stdout: '' });
    expect(missing.stderr).toContain('ENOENT');
  });

  it('carries much in both directions unharmed', async () => {
    const text = randomBytes(3_000_000).toString('base64');
    expect(await cli.ok('exec -i web-0-1 -- cat', { input: text })).toBe(text);
  });

  it('ends the command when whoever asked for it goes', async () => {
    const pidFile = join(cli.dir, 'pid');
    const running = cli.start(['exec', 'web-0-1', '--', 'sh', '-c', `echo $$ > ${pidFile}; exec sleep 600`]);
    await vi.waitFor(
      () => expect(existsSync(pidFile) && readFileSync(pidFile, 'utf8')).toMatch(/\d\n/),
      soon,
    );
    running.child.kill('SIGKILL');
    const pid = readFileSync(pidFile, 'utf8').trim();
    await vi.waitFor(() => expect(existsSync(`/proc/${pid}`)).toBe(false), soon);
  });

  it('copies files and directories both ways, with their modes, and says what is not there', async () => {
    const bytes = randomBytes(300_000);
    const from = join(cli.dir, 'from.bin');
    writeFileSync(from, bytes, { mode: 0o750 });
    const there = join(cli.dir, 'there.bin');
    await cli.ok(['cp', from, `web-0-1:${there}`]);
    expect(readFileSync(there)).toEqual(bytes);
    expect(statSync(there).mode & 0o777).toBe(0o750);
    await cli.ok(['cp', `web-0-1:${there}`, 'back.bin']);
    expect(readFileSync(join(cli.dir, 'back.bin'))).toEqual(bytes);

    mkdirSync(join(cli.dir, 'tree/deep'), { recursive: true });
    writeFileSync(join(cli.dir, 'tree/deep/leaf'), 'leaf');
    await cli.ok(['cp', 'tree', `workload/web:${join(cli.dir, 'tree-there')}`]);
    await cli.ok(['cp', `web-0-1:${join(cli.dir, 'tree-there')}`, 'tree-back']);
    expect(readFileSync(join(cli.dir, 'tree-back/deep/leaf'), 'utf8')).toBe('leaf');

    const gone = await cli.run(['cp', 'web-0-1:/no/such/file', 'x']);
    expect(gone).toMatchObject({ status: 1 });
    expect(gone.stderr).toContain('/no/such/file is not there');
    expect(existsSync(join(cli.dir, 'x'))).toBe(false);
    expect(await cli.run(['cp', 'a', 'b'])).toMatchObject({ status: 64 });
  });

  it('says what is not there, and what nobody may', async () => {
    const messageOf = async (words: string, config?: string): Promise<string> => {
      const env = config === undefined ? {} : { BERTH_CONFIG: config };
      const { status, stderr } = await cli.run(words, { env });
      return `${status} ${stderr}`;
    };
    expect(await messageOf('logs nothing')).toMatch(/^1 .*not found/);
    expect(await messageOf('logs node/n1')).toMatch(/^64 /);
    expect(await messageOf('exec web-0-1')).toMatch(/^64 .*which command/);
    await cli.ok(['apply', '-f', cli.write('fraud.yaml', tenantYaml('fraud'))]);
    const viewer = await cli.server.kubeconfigFor({ kind: 'viewer' });
    expect(await messageOf('logs web-0-1 --tail 0', viewer)).toBe('0 ');
    expect(await messageOf('exec web-0-1 -- true', viewer)).toMatch(/^77 /);
    const stranger = await cli.server.kubeconfigFor({ kind: 'tenant', tenant: 'fraud', role: 'owner' });
    expect(await messageOf('-n default logs replica/web-0-1', stranger)).toMatch(/^(64|77) /);
    expect(await messageOf('logs -n default replica/web-0-1', stranger)).toMatch(/^77 /);
    const editor = await cli.server.kubeconfigFor({ kind: 'tenant', tenant: 'default', role: 'editor' });
    expect(await messageOf('exec web-0-1 -- true', editor)).toBe('0 ');
    const audited = (): unknown[] =>
      readFileSync(join(cli.server.dir, 'audit/audit.log'), 'utf8')
        .split('\n')
        .flatMap((line) => (line.includes('"exec"') ? [JSON.parse(line) as unknown] : []));
    await vi.waitFor(() => {
      expect(audited()).toContainEqual(
        expect.objectContaining({
          who: 'tenant:default:editor',
          verb: 'create',
          name: 'web-0-1',
          outcome: 101,
        }),
      );
      expect(audited()).toContainEqual(expect.objectContaining({ who: 'viewer', outcome: 403 }));
    }, soon);
  });

  it('says at once that a node is not connected, and since when', async () => {
    await node.close();
    await vi.waitFor(async () => {
      const { status, stderr } = await cli.run('logs web-0-1');
      expect(stderr).toMatch(/node n1 cannot be reached: .* last heard of at \d{4}-/);
      expect(status).toBe(69);
    }, soon);
  });
});
