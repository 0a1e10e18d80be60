import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../testing/free-port.js';
import { fixturePath } from '../../testing/run-process.js';
import { projectRoot } from '../../testing/source-tree.js';
import { tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import { allPids, readOr } from '../agent/process/proc.js';
import type { Replica } from '../model/kinds/replica.js';
import type { ProbeInput, ProbeOutput } from './isolation-probe.fixture.js';
import { type BerthProcess, endSupervisor, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

const soon = { timeout: 60_000, interval: 100 };
const json = { 'content-type': 'application/json' };
const probeProgram = fixturePath(import.meta.url, 'isolation-probe.fixture.js');
/** Words that only the victim, the operator, and whoever they let in may read. */
const secrets = ['victim-tenant', 'victim-books', 'of-the-victim'];
const paths = [
  ...[
    '/',
    '/metrics',
    '/livez',
    '/readyz',
    '/healthz',
    '/version',
    '/api',
    '/apis',
    '/apis/berth.dev/v1',
    '/openapi/v3',
  ],
  ...['/apis/berth.dev/v1/tenants', '/apis/berth.dev/v1/workloads', '/apis/berth.dev/v1/nodes'],
  ...['/apis/berth.dev/v1/namespaces/victim-tenant/replicas', '/api/v1/namespaces', '/api/v1/events'],
  ...['/usage', '/attention', '/discovery/prometheus', '/apis/authority.berth.dev/v1/audit'],
  ...['/apis/nodes.berth.dev/v1/authority', '/apis/nodes.berth.dev/v1/stream'],
];
/** What the API tells anybody: that it lives, its version, and the certificate of its CA. */
const openPaths = ['/livez', '/readyz', '/healthz', '/version', '/apis/nodes.berth.dev/v1/authority'];

interface Entries {
  readonly files: string[];
  readonly directories: string[];
  readonly sockets: string[];
}

/** Everything below a directory, the directory included. */
function entriesBelow(path: string, found: Entries = { files: [], directories: [], sockets: [] }): Entries {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return found;
  if (stat.isSocket()) found.sockets.push(path);
  else if (!stat.isDirectory()) found.files.push(path);
  else {
    found.directories.push(path);
    for (const name of readdirSync(path)) entriesBelow(join(path, name), found);
  }
  return found;
}

/** The ports of loopback that these processes listen at. */
function listeningPorts(pids: readonly number[]): number[] {
  const sockets = new Set(
    pids.flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
        } catch {
          return [];
        }
      }),
    ),
  );
  const lines = ['tcp', 'tcp6'].flatMap((name) => (readOr(`/proc/net/${name}`) ?? '').split('\n').slice(1));
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === '0A' && sockets.has(`socket:[${inode}]`)
      ? [parseInt(local.split(':')[1] ?? '', 16)]
      : [];
  });
}

class Cell {
  private constructor(
    readonly client: TestClient,
    readonly up: BerthProcess,
  ) {}

  static async start(...words: Parameters<typeof startBerth>): Promise<Cell> {
    const up = await startBerth(...words);
    return new Cell(testClient(up.kubeconfig), up);
  }

  async send(method: string, path: string, body?: object): Promise<string> {
    const { status, text } = await this.client.send(method, path, {
      ...(body !== undefined && { headers: json, body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
    return text;
  }

  async tenant(name: string): Promise<void> {
    await this.send('POST', '/apis/berth.dev/v1/tenants', {
      ...{ apiVersion: 'berth.dev/v1', kind: 'Tenant', metadata: { name } },
      spec: { limit: { cpu: '64' } },
    });
  }

  async run(
    tenant: string,
    name: string,
    command: readonly string[],
    template: object = {},
    spec: object = {},
  ) {
    const { run, ...more } = template as { readonly run?: object };
    await this.send('POST', `/apis/berth.dev/v1/namespaces/${tenant}/workloads`, {
      ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name } },
      spec: { type: 'Service', template: { run: { process: { command }, ...run }, ...more }, ...spec },
    });
  }

  async replicas(tenant: string): Promise<readonly Replica[]> {
    const text = await this.send('GET', `/apis/berth.dev/v1/namespaces/${tenant}/replicas`);
    return (JSON.parse(text) as { items: Replica[] }).items;
  }

  async serving(tenant: string): Promise<Replica> {
    return vi.waitFor(async () => {
      const [found] = await this.replicas(tenant);
      expect(found?.status).toMatchObject({ stage: 'Serving' });
      if (found === undefined) throw new Error('there is none');
      return found;
    }, soon);
  }

  async stop(): Promise<void> {
    this.client.close();
    this.up.child.kill('SIGTERM');
    await this.up.ended;
  }
}

async function resultIn(directory: string, input: ProbeInput): Promise<ProbeOutput> {
  writeFileSync(join(directory, 'input.json.new'), JSON.stringify(input), { mode: 0o644 });
  execFileSync('mv', [join(directory, 'input.json.new'), join(directory, 'input.json')]);
  const file = join(directory, 'output.json');
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), { ...soon, timeout: 120_000 });
  return JSON.parse(readFileSync(file, 'utf8')) as ProbeOutput;
}

/** What runs under a process, and it. */
function treeOf(pid: number): number[] {
  const children = allPids().filter((each) => parentOf(each) === pid);
  return [pid, ...children.flatMap(treeOf)];
}
const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readOr(`/proc/${pid}/status`) ?? '')?.[1]);

// Users of their own are root's to give.
describe.runIf(process.getuid?.() === 0)(
  'berth up and berth agent under root, with a job that means harm',
  () => {
    const home = mkdtempSync(join(tmpdir(), 'berth-isolation-'));
    const dir = join(home, 'data');
    const joined = join(home, 'joined');
    let cell: Cell;
    let agent: BerthProcess;
    let dnsPort: number;
    let victims: Replica[];
    let attacker: Replica;
    let input: ProbeInput;
    let result: ProbeOutput;
    const scratchOf = ({ metadata }: Replica): string =>
      [join(dir, 'agent'), joined]
        .map((each) => join(each, 'scratch', metadata.uid))
        .find((each) => existsSync(each)) ?? '';

    beforeAll(async () => {
      chmodSync(home, 0o711);
      // As an earlier version left it.
      for (const path of [dir, join(dir, 'agent'), join(dir, 'agent/logs')]) {
        mkdirSync(path);
        chmodSync(path, 0o755);
      }
      for (const path of [join(dir, 'audit.log'), join(dir, 'agent/container-engine.old')])
        writeFileSync(path, 'of-the-victim\n', { mode: 0o644 });
      dnsPort = await freePort();
      cell = await Cell.start(
        ['up', '--dir', dir, '--port', '0', '--dns', `127.0.0.1:${dnsPort}`],
        [
          'env',
          'HOME=/home-of-operator',
          'BERTH_CONFIG=/config-of-operator',
          'KUBECONFIG=/kube-of-operator',
          'SECRET=of-operator',
          `PATH=${process.env['PATH']}:/path-of-operator`,
        ],
      );
      const token = join(home, 'token');
      const made = await cell.send('POST', '/apis/authentication.berth.dev/v1/tokens', {
        spec: { join: { node: 'n2' } },
      });
      writeFileSync(token, (JSON.parse(made) as { status: { token: string } }).status.token, { mode: 0o600 });
      const config = join(home, 'config.json');
      const spec = {
        labels: { pool: 'joined' },
        taints: [{ key: 'joined', value: 'true', effect: 'NoSchedule' }],
        ...{ address: '127.0.0.1', metrics: `127.0.0.1:${await freePort()}` },
      };
      writeFileSync(
        config,
        JSON.stringify({ apiVersion: 'berth.dev/v1', kind: 'AgentConfig', metadata: { name: 'n2' }, spec }),
      );
      agent = await startBerth([
        ...['agent', '--server', cell.up.url, '--token-file', token, '--dir', joined, '--name', 'n2'],
        ...['--config', config, '--stop-jobs'],
      ]);
      for (const tenant of ['victim-tenant', 'attacker']) await cell.tenant(tenant);
      const victim = ['sh', '-c', 'echo of-the-victim; echo of-the-victim >books; exec sleep 86400'];
      const env = { run: { env: [{ name: 'PASSWORD', value: 'of-the-victim' }] } };
      const tolerations = [{ key: 'joined', operator: 'Exists' }];
      const onJoined = { placement: { tolerations, nodeSelector: { pool: 'joined' } } };
      await cell.run(
        'victim-tenant',
        'victim-books',
        victim,
        { ...env, resources: { ports: ['http'] } },
        onJoined,
      );
      await cell.run('default', 'victim-books', victim, env);
      victims = [await cell.serving('victim-tenant'), await cell.serving('default')];
      await cell.run('attacker', 'probe', [
        'node',
        '--input-type=module',
        '-e',
        readFileSync(probeProgram, 'utf8'),
      ]);
      attacker = await cell.serving('attacker');
      const own = scratchOf(attacker);
      const [ofCell, ofAgent] = [entriesBelow(dir), entriesBelow(joined)];
      const others = (name: keyof Entries): string[] =>
        [...ofCell[name], ...ofAgent[name]].filter((path) => path !== own && !path.startsWith(`${own}/`));
      const supervisors = [join(dir, 'agent'), joined].map((each) =>
        Number(readFileSync(join(each, 'supervisor/lock'), 'utf8')),
      );
      const berth = [Number(cell.up.child.pid), Number(agent.child.pid), ...supervisors];
      const pids = [...berth, ...victims.flatMap(({ status }) => treeOf(Number(status?.driverId)))];
      input = {
        files: others('files'),
        directories: others('directories'),
        sockets: others('sockets'),
        pids,
        ports: listeningPorts(berth),
        paths,
      };
      result = await resultIn(own, input);
    }, 300_000);

    afterAll(async () => {
      agent.child.kill('SIGTERM');
      await agent.ended;
      await cell.stop();
      for (const each of [join(dir, 'agent'), joined]) endSupervisor(each);
      rmSync(home, { recursive: true, force: true });
    }, 120_000);

    it('there is something to try, and what is tried works where it should: root does all of it', async () => {
      for (const name of [
        'pki/ca.pem',
        'pki/server.pem',
        'kubeconfig',
        'audit.log',
        'store/data.mdb',
        'agent/supervisor/journal',
      ])
        expect(input.files).toContain(join(dir, name));
      expect(input.files).toContain(join(joined, 'identity.json'));
      expect(input.sockets).toEqual([join(dir, 'agent/supervisor.sock'), join(joined, 'supervisor.sock')]);
      // The API, DNS, and the metrics of the agent.
      expect(input.ports).toHaveLength(3);
      expect(input.pids.length).toBeGreaterThan(6);
      const control = join(home, 'control');
      mkdirSync(control);
      const child = spawn(process.execPath, [probeProgram], { cwd: control, stdio: 'ignore' });
      try {
        const { attempts, answers } = await resultIn(control, input);
        // A group is led by few, a pipe may have nobody at its other end, and the memory of one process may begin with what is not to be read.
        const refused = Object.entries(attempts).filter(
          ([name, outcome]) => outcome !== 'done' && !/^signal group|ENXIO|ENOENT/.test(`${name}${outcome}`),
        );
        expect(refused).toEqual([]);
        expect(Object.keys(attempts).length).toBe(Object.keys(result.attempts).length);
        expect(Object.values(answers).map(({ status }) => status)).toContain(200);
      } finally {
        child.kill('SIGKILL');
      }
    }, 150_000);

    it('each tenant, default too, has an unprivileged user of its own', () => {
      expect(result.uid).toBe(tenantUser('attacker', tenantUsersUsual).uid);
      for (const { status, metadata } of victims) {
        const users = treeOf(Number(status?.driverId)).map((pid) => statSync(`/proc/${pid}`).uid);
        expect(users).toContain(tenantUser(metadata.namespace ?? '', tenantUsersUsual).uid);
      }
    });

    it('it reads, changes, lists and reaches no file of the cell, of the agents, or of other jobs; no process; no memory', () => {
      // To pass through to its own directory is all it may.
      expect(Object.entries(result.attempts).filter(([, outcome]) => outcome === 'done')).toEqual([]);
      expect([...new Set(Object.values(result.attempts))].toSorted()).toEqual(['EACCES', 'ENOENT', 'ESRCH']);
      const unexplained = Object.entries(result.attempts).filter(
        ([name, outcome]) => outcome === 'ENOENT' && !name.includes('/proc/') && !name.includes('memory'),
      );
      expect(unexplained).toEqual([]);
    });

    it('its environment is built from nothing: a fixed PATH, its own HOME, BERTH_* and what its template says', () => {
      const { PATH, HOME, ...others } = result.env;
      expect(PATH).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
      expect(HOME).toBe(scratchOf(attacker));
      expect(Object.keys(others).filter((name) => !/^BERTH_|^(PWD|OLDPWD)$/.test(name))).toEqual([]);
      expect(others).not.toHaveProperty('BERTH_CONFIG');
      expect(result.umask).toBe(0o077);
    });

    it('no port of Berth tells it about another tenant', async () => {
      const told = Object.entries(result.answers).filter(([, { text }]) =>
        secrets.some((secret) => text.includes(secret)),
      );
      // A refusal may repeat the path that was asked for.
      expect(told.filter(([url]) => !url.includes('victim-tenant'))).toEqual([]);
      const allowed = Object.entries(result.answers).filter(([, { status }]) => status < 400);
      expect(
        allowed.map(([url]) => new URL(url).pathname).filter((path) => !openPaths.includes(path)),
      ).toEqual([]);
      expect(allowed.length).toBe(openPaths.length);
      // The same questions, asked by somebody who may.
      const { text } = await cell.client.send('GET', '/apis/berth.dev/v1/workloads');
      expect(text).toContain('victim-books');
      const [metricsUrl = ''] = Object.entries(result.answers)
        .filter(([url, { status }]) => url.startsWith('http:') && url.endsWith('/metrics') && status === 401)
        .map(([url]) => url);
      const authorization = `Bearer ${readFileSync(join(joined, 'metrics-token'), 'utf8').trim()}`;
      const metrics = await fetch(metricsUrl, { headers: { authorization } });
      expect(await metrics.text()).toContain('tenant="victim-tenant"');
    });

    it('names of services are public within the cell, and are not listed', async () => {
      const resolver = new Resolver();
      resolver.setServers([`127.0.0.1:${dnsPort}`]);
      await expect
        .poll(() => resolver.resolve4('victim-books.victim-tenant.berth').catch(String), soon)
        .toEqual(['127.0.0.1']);
      for (const name of ['berth', 'victim-tenant.berth'])
        await expect(resolver.resolve4(name)).rejects.toMatchObject({ code: 'ENODATA' });
    });
  },
);

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
  const program = '/mnt/dist/src/cli/berth.js';
  let cell: Cell;
  const start = async (...words: string[]): Promise<void> => {
    cell = await Cell.start(['up', '--dir', join(home, 'data'), '--port', '0', ...words], asNobody, program);
  };
  const complaints = (): string[] =>
    cell.up
      .complained()
      .split('\n')
      .filter((line) => line.includes('jobs of all tenants'));
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
