import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { run } from '../../testing/run-process.js';
import { type PlayedNodes, playedNodes } from './nodes.fixture.js';
import { realEnv } from '../env/real.js';
import { EtcdStore } from '../store/etcd.js';
import { startServer, type TestServer } from './running.fixture.js';
import { sharedAuthority } from './shared-authority.js';
import { startTwoServers, type TwoServers } from './two-servers.fixture.js';
import type { TestClient } from './test-client.fixture.js';

const apis = '/apis/berth.dev/v1';
const headers = { 'content-type': 'application/json' };
const soon = { timeout: 30_000, interval: 100 };
type Sender = Pick<TestClient, 'send'>;

interface Seen {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly workload: string };
  readonly status: {
    readonly stage: string;
    readonly decision?: string;
    readonly binding?: {
      readonly node: string;
      readonly fence: string;
      readonly nodeEpoch: object;
      readonly receipt: { readonly decision?: string };
    };
    readonly conditions?: readonly { readonly type: string; readonly reason: string }[];
  };
}

async function replicasOf(client: Sender, workload: string): Promise<readonly Seen[]> {
  const { text } = await client.send('GET', `${apis}/replicas`);
  const { items } = JSON.parse(text) as { items: Seen[] };
  return items.filter(({ spec }) => spec.workload === workload);
}

const stages = async (client: Sender, workload: string): Promise<Readonly<Record<string, number>>> => {
  const counts: Record<string, number> = {};
  for (const { status } of await replicasOf(client, workload))
    counts[status.stage] = (counts[status.stage] ?? 0) + 1;
  return counts;
};

async function create(client: Sender, name: string, spec: object): Promise<void> {
  const template = { run: { process: { command: ['x'] } }, resources: { cpu: '1' } };
  const made = await client.send('POST', `${apis}/namespaces/default/workloads`, {
    headers,
    body: JSON.stringify({ metadata: { name }, spec: { type: 'Service', template, ...spec } }),
  });
  expect(made.status, made.text).toBe(201);
}

const wanting = (cpu: string): object => ({ run: { process: { command: ['x'] } }, resources: { cpu } });

describe('the scheduler of berth up', () => {
  let server: TestServer;
  let nodes: PlayedNodes;
  beforeAll(async () => {
    server = await startServer();
    nodes = await playedNodes(server);
    await nodes.register(['n1', 'n2'], '4');
  });
  afterAll(async () => {
    nodes.close();
    const { defects, problems } = server;
    await server.dispose();
    if (defects.length + problems.length > 0) throw new Error(String([...defects, ...problems]));
  });

  it('[L1] binds the replicas of a workload to nodes, and kubectl shows where', async () => {
    await create(server, 'web', { replicas: 3 });
    await expect.poll(() => stages(server, 'web'), soon).toEqual({ Bound: 3 });
    const shown = await run('kubectl', ['--kubeconfig', server.kubeconfig, 'get', 'replicas']);
    expect(shown.status, shown.stderr).toBe(0);
    expect(shown.stdout).toMatch(/web-0-1 +Bound +n[12] /);
    const [first] = await replicasOf(server, 'web');
    const decision = first?.status.binding?.receipt.decision ?? '';
    await expect
      .poll(
        async () => (await server.send('GET', `${apis}/namespaces/default/decisions/${decision}`)).text,
        soon,
      )
      .toMatch(/"outcome":"Committed"/);
    const { text } = await server.send('GET', '/metrics');
    expect(text).toMatch(/berth_scheduler_outcomes_total\{outcome="Committed"\} 3/);
    expect(text).toMatch(
      /berth_scheduler_queue\{priority="0",state="active"\} 0|berth_scheduler_under_way 0/,
    );
  }, 60_000);

  it('[L6] says why a replica waits, and binds it when a node comes that can take it', async () => {
    await create(server, 'large', { replicas: 1, template: wanting('16') });
    const why = async (): Promise<string | undefined> =>
      (await replicasOf(server, 'large'))[0]?.status.conditions?.find(
        ({ type }) => type === 'SchedulingRetrying',
      )?.reason;
    await expect.poll(why, soon).toBe('NodeFull');
    const decision = (await replicasOf(server, 'large'))[0]?.status.decision;
    const told = (): Promise<{ text: string }> =>
      server.send('GET', `${apis}/namespaces/default/decisions/${decision}`);
    await expect.poll(async () => (await told()).text, soon).toContain('"NotPlaced"');
    await nodes.register(['big'], '16');
    await expect.poll(() => stages(server, 'large'), soon).toEqual({ Bound: 1 });
    expect((await replicasOf(server, 'large'))[0]?.status).toMatchObject({ binding: { node: 'big' } });
    expect((await replicasOf(server, 'large'))[0]?.status).not.toHaveProperty('decision');
  }, 60_000);

  it('makes room for what ranks higher: holds the place, and binds when those who leave have left', async () => {
    const critical = JSON.stringify({ metadata: { name: 'critical' }, spec: { value: 1_000 } });
    await server.send('POST', `${apis}/priorityclasses`, { headers, body: critical });
    await create(server, 'urgent', { replicas: 1, priorityClassName: 'critical', template: wanting('16') });
    await expect.poll(() => stages(server, 'urgent'), soon).toEqual({ Scheduled: 1 });
    await expect.poll(() => stages(server, 'large'), soon).toEqual({ Releasing: 1 });
    const [victim] = await replicasOf(server, 'large');
    const { binding } = victim?.status ?? {};
    await nodes.operate('report', {
      ...{ node: 'big', nodeEpoch: binding?.nodeEpoch, fence: binding?.fence, stage: 'Released' },
      ...{ reason: 'Stopped', operation: 'stopped' },
      replica: { tenant: 'default', name: victim?.metadata.name, uid: victim?.metadata.uid },
    });
    await expect.poll(() => stages(server, 'urgent'), soon).toEqual({ Bound: 1 });
    expect((await replicasOf(server, 'urgent'))[0]?.status.binding?.node).toBe('big');
  }, 60_000);

  it('starts a gang together or not at all: holds for nobody while one of them finds no place', async () => {
    await create(server, 'together', { replicas: 3, gang: { minAvailable: 3 }, template: wanting('3') });
    const why = async (): Promise<string | undefined> =>
      (await replicasOf(server, 'together'))[0]?.status.conditions?.find(
        ({ type }) => type === 'SchedulingRetrying',
      )?.reason;
    await expect.poll(why, soon).toBe('NodeFull');
    expect(await stages(server, 'together')).toEqual({ Queued: 3 });
    const reservations = await server.send('GET', `${apis}/namespaces/default/reservations`);
    expect(reservations.text).not.toContain('together');
    await nodes.register(['n3', 'n4', 'n5'], '4');
    await expect.poll(() => stages(server, 'together'), soon).toEqual({ Bound: 3 });
    const { text } = await server.send('GET', `${apis}/namespaces/default/gangs/together`);
    expect(JSON.parse(text)).toMatchObject({ status: { state: 'Committed', attempts: 1 } });
  }, 60_000);
});

describe('schedulers that overlap on one etcd', () => {
  let etcd: EtcdCluster;
  let two: TwoServers;
  let nodes: PlayedNodes;
  beforeAll(async () => {
    etcd = await startEtcd();
    // By mistake they disagree about the number of shards: every workload has two schedulers.
    two = await startTwoServers(etcd, 'scheduling', undefined, { a: [], b: ['--scheduler-shards', '2'] });
    const store = new EtcdStore({ endpoints: etcd.urls, env: realEnv() });
    const authority = await sharedAuthority(store, realEnv());
    await store.close();
    nodes = await playedNodes({ url: two.servers[0]?.url ?? '', dir: join(two.path, 'a'), authority });
  });
  afterAll(async () => {
    nodes.close();
    await two.close();
    await etcd.stop();
  });

  it('[S1][S2][S5] do no harm: a cell that is just large enough is filled, every replica bound once', async () => {
    const [a] = two.clients as [TestClient];
    const leases = async (): Promise<readonly string[]> =>
      (JSON.parse((await a.send('GET', `${apis}/leases`)).text) as { items: Seen[] }).items
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith('scheduler'));
    await expect.poll(leases, soon).toEqual(['scheduler', 'scheduler-0', 'scheduler-1']);
    await nodes.register(
      Array.from({ length: 10 }, (_, at) => `n${at}`),
      '20',
    );
    for (let at = 0; at < 4; at++) await create(a, `w${at}`, { replicas: 50 });
    for (let at = 0; at < 4; at++) await expect.poll(() => stages(a, `w${at}`), soon).toEqual({ Bound: 50 });
    const perNode: Record<string, number> = {};
    for (let at = 0; at < 4; at++)
      for (const { status } of await replicasOf(a, `w${at}`)) {
        const node = status.binding?.node ?? '';
        perNode[node] = (perNode[node] ?? 0) + 1;
      }
    expect(Object.values(perNode)).toEqual(Array(10).fill(20));
    const audit = await a.send('GET', '/apis/authority.berth.dev/v1/audit');
    expect(JSON.parse(audit.text)).toMatchObject({ differences: [] });
  }, 120_000);
});
