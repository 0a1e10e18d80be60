import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { type BerthProcess, program, startBerth } from './process.fixture.js';
import { startTwoServers, type TwoServers } from './two-servers.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

const apis = '/apis/berth.dev/v1';
const workloads = `${apis}/namespaces/default/workloads`;
const json = { 'content-type': 'application/json' };
const merge = { 'content-type': 'application/merge-patch+json' };
const workload = (name: string, replicas: number): string =>
  JSON.stringify({
    metadata: { name },
    spec: {
      type: 'Service',
      replicas,
      template: { run: { process: { command: ['x'] } }, resources: { cpu: '1' } },
    },
  });

interface Seen {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: { readonly holder: string; readonly address: string; readonly epoch: { number: number } };
  readonly status: { readonly stage: string; readonly grant?: { amounts: object } };
}

const list = async (client: TestClient, kind: string): Promise<readonly Seen[]> =>
  (JSON.parse((await client.send('GET', `${apis}/${kind}`)).text) as { items: Seen[] }).items;

const stagesOf = async (client: TestClient): Promise<readonly string[]> =>
  (await list(client, 'replicas'))
    .map(({ metadata, status }) => `${metadata.name} ${status.stage}`)
    .toSorted();

const queued = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, slot) => `${name}-${slot}-1 Queued`).toSorted();

const soon = { timeout: 30_000, interval: 100 };
const create = async (client: TestClient, name: string, replicas: number): Promise<void> => {
  const made = await client.send('POST', workloads, { headers: json, body: workload(name, replicas) });
  expect(made.status, made.text).toBe(201);
};
const scale = async (client: TestClient, name: string, replicas: number): Promise<void> => {
  const body = JSON.stringify({ spec: { replicas } });
  expect((await client.send('PATCH', `${workloads}/${name}`, { headers: merge, body })).status).toBe(200);
};

describe('the controllers of berth up', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let server: BerthProcess;
  let client: TestClient;
  beforeAll(async () => {
    scratch = scratchDirectory('controllers');
    server = await startBerth(['up', '--dir', join(scratch.path, 'data'), '--port', '0', '--no-agent']);
    client = testClient(server.kubeconfig);
  });
  afterAll(async () => {
    client.close();
    server.child.kill('SIGKILL');
    await server.ended;
    scratch.remove();
  });
  const berth = async (words: string): Promise<string> => {
    const ran = await run(process.execPath, [program, ...words.split(' '), '--config', server.kubeconfig]);
    expect(ran.status, ran.stderr).toBe(0);
    return ran.stdout;
  };

  it('make a workload into queued replicas, as many as it says, and nothing is left when it is deleted', async () => {
    await create(client, 'web', 3);
    await expect.poll(() => stagesOf(client), soon).toEqual(queued('web', 3));
    expect(await berth('get replicas')).toMatch(/web-2-1 +Queued /);
    await scale(client, 'web', 150);
    await expect.poll(() => stagesOf(client), soon).toEqual(queued('web', 150));
    await scale(client, 'web', 1);
    await expect.poll(() => stagesOf(client), soon).toEqual(queued('web', 1));
    await berth('delete workload web --timeout 30s');
    await expect.poll(() => list(client, 'replicas'), soon).toEqual([]);
    await expect.poll(() => list(client, 'workloadrevisions'), soon).toEqual([]);
  }, 60_000);

  it('show who leads, and what tenants are granted, as objects that nobody writes', async () => {
    const tenant = JSON.stringify({ metadata: { name: 'fraud' }, spec: { limit: { cpu: '64' } } });
    await client.send('POST', `${apis}/tenants`, { headers: json, body: tenant });
    const grants = async (): Promise<unknown> =>
      (await list(client, 'tenantledgers')).find(({ metadata }) => metadata.name === 'fraud')?.status.grant;
    await expect.poll(grants, soon).toMatchObject({ amounts: { cpu: '64' } });
    const shown = await berth('get leases,nodeledgers,tenantledgers -o wide');
    for (const name of ['workload-controller', 'grant-controller', 'collector'])
      expect(shown).toMatch(new RegExp(`lease/${name} +\\S+ +1\\.1 +${server.url} `));
    expect(shown).toMatch(/tenantledger\/fraud +<none> +64 /);

    for (const [method, path] of [
      ['POST', 'leases'],
      ['PUT', 'leases/collector'],
      ['PATCH', 'leases/collector'],
      ['DELETE', 'leases/collector'],
      ['DELETE', 'leases'],
      ['POST', 'nodeledgers'],
      ['PUT', 'tenantledgers/fraud/status'],
    ] as const) {
      const answer = await client.send(method, `${apis}/${path}`, {
        headers: json,
        body: JSON.stringify({ metadata: { name: 'collector' }, spec: { holder: 'me' } }),
      });
      expect(answer.status, `${method} ${path}`).toBe(405);
      expect(answer.text).toContain('show what the authority has recorded and are not written as objects');
    }
  });

  it('tell in /metrics what they do, and what the authority does for them', async () => {
    await create(client, 'counted', 20);
    await expect.poll(() => stagesOf(client), soon).toEqual(queued('counted', 20));
    const { text } = await client.send('GET', '/metrics');
    const valueOf = (sample: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${sample} `))
          ?.split(' ')[1],
      );
    expect(valueOf('berth_controller_runs_total{controller="workload"}')).toBeGreaterThan(0);
    expect(valueOf('berth_controller_errors_total{controller="workload"}')).toBe(0);
    expect(valueOf('berth_controller_depth{controller="grant"}')).toBe(0);
    const transactions = 'berth_authority_transaction_operations';
    const [operations, count] = ['sum', 'count'].map((word) =>
      valueOf(`${transactions}_${word}{outcome="Committed"}`),
    ) as [number, number];
    expect(operations).toBeGreaterThanOrEqual(20);
    expect(count).toBeLessThan(operations);
  });

  it('go on where they were when the server is started again, under new epochs', async () => {
    await create(client, 'kept', 2);
    const words = ['up', '--dir', join(scratch.path, 'data'), '--port', '0', '--no-agent'];
    server.child.kill('SIGKILL');
    await server.ended;
    client.close();
    server = await startBerth(words);
    client = testClient(server.kubeconfig);
    await scale(client, 'kept', 5);
    await expect.poll(() => stagesOf(client), soon).toEqual(expect.arrayContaining([...queued('kept', 5)]));
    const epochs = (await list(client, 'leases')).map(({ spec }) => spec.epoch.number);
    expect(epochs.length).toBeGreaterThanOrEqual(3);
    expect(new Set(epochs)).toEqual(new Set([2]));

    expect(server.complained()).not.toMatch(/ (WARN|ERROR) /);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(server.complained()).not.toMatch(/ (WARN|ERROR) /);
    expect(server.complained()).toMatch(/ INFO {2}berth: stopping signal=SIGTERM\n$/);
  }, 60_000);
});

describe('the controllers of two servers on one etcd', () => {
  let etcd: EtcdCluster;
  let two: TwoServers;
  let servers: BerthProcess[];
  let clients: TestClient[];
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  beforeEach(async () => {
    two = await startTwoServers(etcd, 'controllers');
    ({ servers, clients } = two);
  });
  afterEach(async () => {
    await two.close();
  });

  const leaseOf = async (client: TestClient, name: string): Promise<Seen['spec'] | undefined> =>
    (await list(client, 'leases')).find(({ metadata }) => metadata.name === name)?.spec;

  it('give their leases up at a clean stop, so that the other need not wait them out', async () => {
    const [a] = clients as [TestClient];
    await expect.poll(() => leaseOf(a, 'workload-controller'), soon).toBeDefined();
    const address = (await leaseOf(a, 'workload-controller'))?.address;
    const leader = servers.findIndex(({ url }) => url === address);
    servers[leader]?.child.kill('SIGTERM');
    expect(await servers[leader]?.ended).toBe(0);
    const other = clients[1 - leader] as TestClient;
    await expect
      .poll(async () => (await leaseOf(other, 'workload-controller'))?.address, {
        timeout: 8_000,
        interval: 100,
      })
      .toBe(servers[1 - leader]?.url);
  }, 60_000);

  it('lead one at a time; when the one that leads is killed, the other takes over and goes on', async () => {
    const [a] = clients as [TestClient];
    await create(a, 'web', 2);
    await expect.poll(() => stagesOf(a), soon).toEqual(queued('web', 2));
    const before = await leaseOf(a, 'workload-controller');
    const leader = servers.findIndex(({ url }) => url === before?.address);
    expect(leader).not.toBe(-1);
    const runsAt = async (client: TestClient): Promise<number> => {
      const { text } = await client.send('GET', '/metrics');
      return Number(/berth_controller_runs_total\{controller="workload"\} (\d+)/.exec(text)?.[1]);
    };
    const other = clients[1 - leader] as TestClient;
    expect(await runsAt(clients[leader] as TestClient)).toBeGreaterThan(0);
    expect(await runsAt(other)).toBe(0);

    servers[leader]?.child.kill('SIGKILL');
    await servers[leader]?.ended;
    await scale(other, 'web', 4);
    await expect.poll(() => stagesOf(other), { timeout: 60_000, interval: 500 }).toEqual(queued('web', 4));
    const after = await leaseOf(other, 'workload-controller');
    expect(after?.address).toBe(servers[1 - leader]?.url);
    expect(after?.epoch.number).toBe((before?.epoch.number ?? 0) + 1);
    expect(await runsAt(other)).toBeGreaterThan(0);
  }, 120_000);
});
