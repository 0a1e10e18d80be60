import { spawn } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../testing/free-port.js';
import { fixturePath, type Ran, run } from '../../testing/run-process.js';
import { tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import type { Replica } from '../model/kinds/replica.js';
import {
  Cell,
  entriesBelow,
  type Entries,
  listeningPorts,
  resultIn,
  soon,
  treeOf,
} from './isolated-cell.fixture.js';
import type { ProbeInput, ProbeOutput } from './isolation-probe.fixture.js';
import { type BerthProcess, endSupervisor, program, startBerth } from './process.fixture.js';

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

// Users of their own are root's to give.
describe.runIf(process.getuid?.() === 0)(
  'a job that means harm, under a berth up and a berth agent of root',
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

    const exec = (...words: string[]): Promise<Ran> =>
      run('env', [
        ...[`BERTH_CONFIG=${cell.up.kubeconfig}`, process.execPath, program],
        ...['exec', '-n', 'attacker', attacker.metadata.name, '--', ...words],
      ]);

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

    it('tries what works where it should: root does all of it', async () => {
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

    it('runs as an unprivileged user of its tenant, and so do jobs of default', () => {
      expect(result.uid).toBe(tenantUser('attacker', tenantUsersUsual).uid);
      for (const { status, metadata } of victims) {
        const users = treeOf(Number(status?.driverId)).map((pid) => statSync(`/proc/${pid}`).uid);
        expect(users).toContain(tenantUser(metadata.namespace ?? '', tenantUsersUsual).uid);
      }
    });

    it('gets at no file of the cell, of the agents or of other jobs, at no process and no memory', () => {
      // To pass through to its own directory is all it may.
      expect(Object.entries(result.attempts).filter(([, outcome]) => outcome === 'done')).toEqual([]);
      expect([...new Set(Object.values(result.attempts))].toSorted()).toEqual(['EACCES', 'ENOENT', 'ESRCH']);
      const unexplained = Object.entries(result.attempts).filter(
        ([name, outcome]) => outcome === 'ENOENT' && !name.includes('/proc/') && !name.includes('memory'),
      );
      expect(unexplained).toEqual([]);
    });

    it('has an environment built from nothing: a fixed PATH, its own HOME, BERTH_* and what its template says', () => {
      const { PATH, HOME, ...others } = result.env;
      expect(PATH).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
      expect(HOME).toBe(scratchOf(attacker));
      expect(Object.keys(others).filter((name) => !/^BERTH_|^(PWD|OLDPWD)$/.test(name))).toEqual([]);
      expect(others).not.toHaveProperty('BERTH_CONFIG');
      expect(result.umask).toBe(0o077);
    });

    it('has no rights of root left, none to gain, and no open file but its own output', async () => {
      const none = '0000000000000000';
      expect(result.rights).toMatchObject({
        CapEff: none,
        CapPrm: none,
        CapAmb: none,
        NoNewPrivs: '1',
        Groups: '',
      });
      const own = new RegExp(
        `/runs/${attacker.metadata.uid}/1/std(out|err)$|^/dev/null$|^anon_inode:|^pipe:`,
      );
      expect(result.opened.filter((path) => !own.test(path))).toEqual([]);
      const { stdout } = await exec('sh', '-c', 'ls -l /proc/self/fd');
      expect(stdout).not.toContain(home);
    });

    it('gets no more rights and no more variables by a command beside it', async () => {
      for (const directory of [`${dir}/pki`, `${dir}/agent/logs`]) {
        const listed = await exec('ls', directory);
        expect([listed.status, listed.stdout]).toEqual([2, '']);
      }
      const { stdout } = await exec('sh', '-c', 'id -u; umask; env');
      const [uid, umask, ...variables] = stdout.trim().split('\n');
      expect([Number(uid), umask]).toEqual([result.uid, '0077']);
      const unknown = variables.filter((line) => !/^(BERTH_\w+|PATH|HOME|PWD|OLDPWD|_)=/.test(line));
      expect(unknown).toEqual([]);
      expect(stdout).toContain(`PATH=${result.env['PATH']}\n`);
    });

    it('learns about another tenant from no port of Berth', async () => {
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

    it('finds services by name, which are public within the cell, and no list of them', async () => {
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
