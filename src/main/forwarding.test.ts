import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { done, openAuthority } from '../commit/open-authority.fixture.js';
import { realEnv } from '../env/real.js';
import { EtcdStore } from '../store/etcd.js';
import type { BerthProcess } from './process.fixture.js';
import { startTwoServers, type TwoServers } from './two-servers.fixture.js';
import type { TestClient } from './test-client.fixture.js';

const apis = '/apis/berth.dev/v1';
const workloads = `${apis}/namespaces/default/workloads`;
const operations = '/apis/authority.berth.dev/v1/operations';
const headers = { 'content-type': 'application/json' };
const soon = { timeout: 30_000, interval: 100 };
const env = realEnv();

interface Lease {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly holder: string; readonly address?: string };
}

const addressOf = async (client: TestClient, lease: string): Promise<string | undefined> => {
  const { items } = JSON.parse((await client.send('GET', `${apis}/leases`)).text) as { items: Lease[] };
  const spec = items.find(({ metadata }) => metadata.name === lease)?.spec;
  return spec?.holder === '' ? undefined : spec?.address;
};
const queued = async (client: TestClient): Promise<number> =>
  (await client.send('GET', `${apis}/replicas`)).text.split('"stage":"Queued"').length - 1;
const operationsAt = async (client: TestClient, route: string): Promise<number> => {
  const { text } = await client.send('GET', '/metrics');
  const sample = `berth_authority_operations_total{route="${route}",outcome="Committed"} `;
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(sample))
      ?.slice(sample.length) ?? 0,
  );
};

describe('the authority of two servers on one etcd', () => {
  let etcd: EtcdCluster;
  let two: TwoServers;
  let servers: BerthProcess[];
  let clients: TestClient[];
  beforeAll(async () => {
    etcd = await startEtcd();
    two = await startTwoServers(etcd, 'forwarding');
    ({ servers, clients } = two);
  });
  afterAll(async () => {
    await two.close();
    await etcd.stop();
  });
  const serverAt = (url: string | undefined): number => servers.findIndex((server) => server.url === url);

  /** Has the lease of the authority change hands until another server holds it than the one that is named. */
  const moveAuthorityFrom = async (url: string): Promise<string> => {
    const store = new EtcdStore({ endpoints: etcd.urls, env });
    const { authority, cache } = await openAuthority(store, env, { mayChain: false });
    try {
      for (let round = 0; round < 30; round++) {
        const held = (): Promise<string | undefined> => addressOf(clients[0] as TestClient, 'authority');
        await expect.poll(held, soon).toBeDefined();
        const address = await held();
        if (address !== undefined && address !== url) return address;
        const lease = { name: 'authority', holder: 'test', durationSeconds: 15 };
        const taken = await authority.takeLease({
          ...lease,
          operation: `take/${round}`,
          unchangedSince: 'Alone',
        });
        done(await authority.resign({ ...lease, epoch: done(taken).epoch, reason: 'Stopped' }));
        await env.sleep(50);
      }
      throw new Error('the lease never changed hands');
    } finally {
      await cache.close();
      await store.close();
    }
  };

  it('is one of them: the other forwards its operations there, and goes on by itself when that one is killed', async () => {
    const [a] = clients as [TestClient];
    await expect.poll(() => addressOf(a, 'workload-controller'), soon).toBeDefined();
    const controlling = await addressOf(a, 'workload-controller');
    const authority = await moveAuthorityFrom(controlling ?? '');
    const sender = clients[serverAt(controlling)] as TestClient;
    const receiver = clients[serverAt(authority)] as TestClient;
    const template = { run: { process: { command: ['x'] } } };
    const body = JSON.stringify({
      metadata: { name: 'web' },
      spec: { type: 'Service', replicas: 20, template },
    });
    expect((await sender.send('POST', workloads, { headers, body })).status).toBe(201);
    await expect.poll(() => queued(sender), soon).toBe(20);
    expect(await operationsAt(sender, 'forwarded')).toBeGreaterThanOrEqual(20);
    expect(await operationsAt(receiver, 'received')).toBeGreaterThanOrEqual(20);
    const log = join(two.path, serverAt(authority) === 0 ? 'a' : 'b', 'audit', 'audit.log');
    await expect
      .poll(() => readFileSync(log, 'utf8'), soon)
      .toMatch(
        /"who":"controller:commit","verb":"create","kind":"Operation","name":"incarnate","outcome":200/,
      );

    const localBefore = await operationsAt(sender, 'local');
    servers[serverAt(authority)]?.child.kill('SIGKILL');
    await servers[serverAt(authority)]?.ended;
    const patch = { 'content-type': 'application/merge-patch+json' };
    const more = JSON.stringify({ spec: { replicas: 40 } });
    expect((await sender.send('PATCH', `${workloads}/web`, { headers: patch, body: more })).status).toBe(200);
    // Refused for certain, so it is done here at once; the lease need not run out first.
    await expect.poll(() => queued(sender), { timeout: 30_000, interval: 100 }).toBe(40);
    expect((await operationsAt(sender, 'local')) - localBefore).toBeGreaterThanOrEqual(20);
    await expect.poll(() => addressOf(sender, 'authority'), { timeout: 40_000 }).toBe(controlling);
  }, 120_000);

  it('takes operations from servers alone, and says what is wrong with an input', async () => {
    const alive = servers.findIndex(({ child }) => child.exitCode === null && child.signalCode === null);
    const client = clients[alive] as TestClient;
    const refused = await client.send('POST', `${operations}/forget`, { headers, body: '{}' });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('only servers of the cell (controller:commit) forward operations');
    const made = await client.send('POST', '/apis/authentication.berth.dev/v1/tokens', {
      headers,
      body: JSON.stringify({ spec: { identity: 'controller:commit' } }),
    });
    const { token } = (JSON.parse(made.text) as { status: { token: string } }).status;
    const post = async (name: string, body: string) => {
      const sent = { ...headers, authorization: `Bearer ${token}` };
      const { status, text } = await client.sendAnonymously('POST', `${operations}/${name}`, sent, body);
      return { status, message: (JSON.parse(text) as { message?: string }).message };
    };
    expect(await post('forget', '{}')).toEqual({ status: 400, message: 'forget: actor: required' });
    expect(await post('bind', '[{}]')).toEqual({ status: 400, message: 'bind: [0].actor: required' });
    expect(await post('forgot', '{}')).toEqual({
      status: 404,
      message: 'no operation "forgot" can be forwarded; did you mean forget?',
    });
    expect((await post('takeLease', '{}')).status).toBe(404);
    expect((await client.send('GET', `${operations}/forget`)).status).toBe(405);
    expect((await client.send('GET', '/apis/authority.berth.dev/v1/books')).status).toBe(404);
  });
});
