import { chownSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../testing/free-port.js';
import { projectRoot } from '../../testing/source-tree.js';
import { readOr } from '../agent/process/proc.js';
import { Cell, soon, treeOf } from './isolated-cell.fixture.js';
import { endSupervisor } from './process.fixture.js';

// To become another user is root's.
describe.runIf(process.getuid?.() === 0)('berth up of an ordinary user', () => {
  const home = mkdtempSync(join(tmpdir(), 'berth-ordinary-'));
  const nobody = 65_534;
  // Where the project is closed to others it is mounted where they get at it.
  const asNobody = [
    ...[
      'unshare',
      '--mount',
      'sh',
      '-c',
      `mount --bind '${projectRoot}' /mnt && cd '${home}' && exec "$@"`,
      'as-nobody',
    ],
    ...['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--no-new-privs', '--'],
  ];
  let cell: Cell;
  const start = async (...words: string[]): Promise<void> => {
    cell = await Cell.start(
      ['up', '--dir', join(home, 'data'), '--port', '0', ...words],
      asNobody,
      '/mnt/dist/src/cli/berth.js',
    );
  };
  const complaints = (): string[] =>
    cell.up
      .complained()
      .split('\n')
      .filter((line) => line.includes('jobs of all tenants'))
      .map((line) => line.replace(/^\S+ WARN {2}agent \S+: /, ''));
  const own = ['sh', '-c', 'id -u; exec sleep 86400'];

  beforeAll(async () => {
    chownSync(home, nobody, nobody);
    await start();
  }, 120_000);
  afterAll(async () => {
    await cell.stop();
    endSupervisor(join(home, 'data/agent'));
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  it('says in one line that jobs run as this user, and whose it runs', () => {
    expect(complaints()).toEqual([
      `jobs of all tenants run as this user (uid ${nobody}): this node runs processes of tenant default only; pass --allow-shared-user to run those of every tenant`,
    ]);
    expect(statSync(join(home, 'data')).mode & 0o7777).toBe(0o711);
    for (const name of ['pki', 'store', 'kubeconfig', 'agent/runs', 'agent/supervisor.sock'])
      expect(statSync(join(home, 'data', name)).mode & 0o077, name).toBe(0);
  });

  it('runs the processes of default, with an environment from nothing', async () => {
    await cell.run('default', 'own', own);
    const { status, metadata } = await cell.serving('default');
    const users = new Set(treeOf(Number(status?.driverId)).map((pid) => statSync(`/proc/${pid}`).uid));
    expect([...users]).toEqual([nobody]);
    const job = treeOf(Number(status?.driverId)).at(-1);
    const names = (readOr(`/proc/${job}/environ`) ?? '').split('\0').map((line) => line.split('=')[0]);
    expect(
      names.filter((name) => name !== undefined && !/^(BERTH_.*|PATH|HOME|PWD|OLDPWD|)$/.test(name)),
    ).toEqual([]);
    expect(readOr(`/proc/${job}/environ`)).toContain(
      `HOME=${join(home, 'data/agent/scratch', metadata.uid)}\0`,
    );
  }, 90_000);

  it('runs the example of the README', async () => {
    const text = readFileSync(join(projectRoot, 'examples/hello.yaml'), 'utf8');
    const one = text.replace('replicas: 2', 'replicas: 1').replace('[http]', `['http:${await freePort()}']`);
    await cell.send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', parse(one) as object);
    const shown = async (): Promise<string[]> =>
      (await cell.replicas('default')).map(({ metadata, status }) => `${metadata.name} ${status?.stage}`);
    await expect.poll(shown, soon).toContain('hello-0-1 Serving');
  }, 90_000);

  it('places no process of another tenant, and why says why', async () => {
    await cell.tenant('guest');
    await cell.run('guest', 'job', own);
    const why = await vi.waitFor(async () => {
      const [replica] = await cell.replicas('guest');
      expect(replica?.status?.stage).toBe('Queued');
      const text = await cell.send(
        'GET',
        `/apis/berth.dev/v1/namespaces/guest/replicas/${replica?.metadata.name}/why`,
      );
      expect(text).toContain('DriverMissing');
      return text;
    }, soon);
    expect(why).toContain('runs processes of tenant default only');
    expect(why).toContain('--allow-shared-user');
  }, 90_000);

  it('runs them where its operator allows it', async () => {
    await cell.stop();
    await start('--allow-shared-user');
    expect(complaints()).toEqual([
      `jobs of all tenants run as this user (uid ${nobody}): tenants are not isolated from each other or from this node`,
    ]);
    await cell.serving('guest');
  }, 120_000);
});
