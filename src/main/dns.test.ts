import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../../testing/run-process.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Epoch } from '../model/records.js';
import { type PlayedNodes, playedNodes } from './nodes.fixture.js';
import { startServer, type TestServer } from './running.fixture.js';

const workload = (name: string, replicas: number) => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name, namespace: 'default' },
  spec: {
    ...{ type: 'Service', replicas },
    template: { run: { process: { command: ['./api'] } }, resources: { cpu: '10m', ports: ['http'] } },
  },
});

/** Its replicas have names that are too long for one label of DNS. */
const long = 'w'.repeat(60);
const subnets = ['api', 'many', long];

/** A service whose replicas have said where they listen, asked for with real clients. */
describe('services by name', () => {
  let server: TestServer;
  let nodes: PlayedNodes;
  let port: number;
  const replicas = () => [...server.objects.list<Replica>('Replica')];

  /** Says of every replica that is bound that it is ready, at an address of its own. */
  async function startAll(epoch: Epoch): Promise<void> {
    for (const { metadata, spec, status } of replicas()) {
      const said = {
        ...{ node: 'n1', nodeEpoch: epoch, fence: status?.binding?.fence ?? '', reason: 'Played' },
        replica: { tenant: metadata.namespace, name: metadata.name, uid: metadata.uid },
        address: `10.1.${subnets.indexOf(spec.workload)}.${Number(spec.slot) + 1}`,
      };
      for (const stage of ['Starting', 'Ready'])
        await nodes.operate('report', { ...said, stage, operation: `${stage}/${metadata.uid}` });
    }
  }

  beforeAll(async () => {
    server = await startServer({ dns: { host: '127.0.0.1', port: 0 } });
    port = Number(server.events.find(({ component }) => component === 'dns')?.fields?.['port']);
    nodes = await playedNodes(server);
    const { epoch } = await nodes.operate<{ epoch: Epoch }>('register', {
      ...{ node: 'n1', capacity: { cpu: '64' }, allocatable: { cpu: '64' }, leaseSeconds: 600 },
      ...{ agent: { version: 'test', drivers: ['process'] }, operation: 'register/n1' },
    });
    for (const one of [workload('api', 2), workload('many', 60), workload(long, 1)])
      await server.objects.create('Workload', 'default', one);
    const until = (what: () => boolean): Promise<void> =>
      vi.waitFor(() => expect(what()).toBe(true), { timeout: 60_000, interval: 100 });
    await until(
      () => replicas().length === 63 && replicas().every(({ status }) => status?.stage === 'Bound'),
    );
    await startAll(epoch);
    await until(() => replicas().every(({ status }) => status?.stage === 'Serving'));
    const listed = (name: string): number =>
      (server.objects.get('Endpoints', 'default', name)?.status?.['addresses'] as object[] | undefined)
        ?.length ?? 0;
    await until(() => listed('api') === 2 && listed('many') === 60 && listed(long) === 1);
  }, 180_000);
  afterAll(async () => {
    nodes.close();
    await server.dispose();
  });

  const dig = async (...words: readonly string[]): Promise<string> => {
    const { stdout } = await run('dig', ['@127.0.0.1', '-p', String(port), '+tries=3', ...words]);
    return stdout;
  };
  const short = async (...words: readonly string[]): Promise<string[]> =>
    (await dig('+short', ...words)).trim().split('\n').toSorted();

  it('dig finds the addresses of a service, the ports of it, and its replicas', async () => {
    expect(await short('api.default.berth')).toEqual(['10.1.0.1', '10.1.0.2']);
    expect(await short('api-1-1.api.default.berth')).toEqual(['10.1.0.2']);
    const ports = await short('_http._tcp.api.default.berth', 'SRV');
    expect(ports.join()).toMatch(
      /^0 1 \d+ api-0-1\.api\.default\.berth\.,0 1 \d+ api-1-1\.api\.default\.berth\.$/,
    );
    expect(await short('+tcp', 'API.default.Berth')).toEqual(['10.1.0.1', '10.1.0.2']);
  }, 60_000);

  it('dig follows the port of a replica to its address, however long its name is', async () => {
    const [srv = ''] = await short(`_http._tcp.${long}.default.berth`, 'SRV');
    const target = srv.split(' ').at(-1) ?? '';
    expect(target).toMatch(/^[0-9a-f]{16}\.w{60}\.default\.berth\.$/);
    expect(await short(target)).toEqual(['10.1.2.1']);
  }, 60_000);

  it('dig is told apart what has no such record, what does not exist, and what is not ours', async () => {
    const header = async (...words: readonly string[]): Promise<string> => {
      const text = await dig(...words);
      return `${/status: (\w+)/.exec(text)?.[1]} ${/ANSWER: (\d+)/.exec(text)?.[1]} ${text.includes('SOA')}`;
    };
    expect(await header('api.default.berth', 'AAAA')).toBe('NOERROR 0 true');
    expect(await header('nope.default.berth')).toBe('NXDOMAIN 0 true');
    expect(await header('example.org')).toBe('REFUSED 0 false');
  }, 60_000);

  it('a long answer is cut over UDP, and dig asks again over TCP', async () => {
    const cut = await dig('+ignore', '+noedns', 'many.default.berth');
    expect(cut).toMatch(/flags: qr aa tc/);
    const whole = await dig('+noedns', 'many.default.berth');
    expect(whole).toMatch(/ANSWER: 60,/);
    expect(whole).toContain('(TCP)');
  }, 60_000);

  it("Node's resolver finds them too", async () => {
    const resolver = new Resolver({ tries: 3 });
    resolver.setServers([`127.0.0.1:${port}`]);
    expect((await resolver.resolve4('api.default.berth')).toSorted()).toEqual(['10.1.0.1', '10.1.0.2']);
    expect(await resolver.resolveSrv('_http._tcp.api.default.berth')).toHaveLength(2);
    await expect(resolver.resolve4('nope.default.berth')).rejects.toThrow('ENOTFOUND');
    await expect(resolver.resolve6('api.default.berth')).rejects.toThrow('ENODATA');
  }, 60_000);

  it('Prometheus finds what to scrape, over HTTP', async () => {
    const { status, text } = await server.send('GET', '/discovery/prometheus?workload=api&port=http');
    const groups = JSON.parse(text) as { targets: string[]; labels: Record<string, string> }[];
    expect([status, groups.length]).toEqual([200, 2]);
    expect(groups[0]).toMatchObject({
      targets: [expect.stringMatching(/^10\.1\.0\.1:\d+$/)],
      labels: { __meta_berth_replica: 'api-0-1', __meta_berth_tenant: 'default', __meta_berth_node: 'n1' },
    });
    expect((await server.sendAnonymously('GET', '/discovery/prometheus')).status).toBe(401);
  }, 60_000);
});
