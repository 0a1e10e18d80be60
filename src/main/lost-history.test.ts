import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { startProxy, type TcpProxy } from '../../testing/tcp-proxy.js';
import { realEnv } from '../env/real.js';
import { EtcdStore } from '../store/etcd.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { testClient, type TestClient } from './test-client.fixture.js';

const classes = '/apis/berth.dev/v1/priorityclasses';
const headers = { 'content-type': 'application/json' };
const named = (name: string): string => JSON.stringify({ metadata: { name }, spec: { value: 1 } });

interface Line {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata: { readonly name: string; readonly uid: string };
  };
}

const scratch = scratchDirectory('lost-history');
let etcd: EtcdCluster;
let proxy: TcpProxy;
const servers: BerthProcess[] = [];
let near: TestClient;
let far: TestClient;

beforeAll(async () => {
  etcd = await startEtcd();
  const [url = ''] = etcd.urls;
  proxy = await startProxy(Number(new URL(url).port));
  const start = (dir: string, store: string): Promise<BerthProcess> =>
    startBerth([
      ...['server', '--store', `etcd:${store}`, '--dir', join(scratch.path, dir)],
      ...['--listen', '127.0.0.1:0'],
    ]);
  servers.push(await start('near', url), await start('far', `http://127.0.0.1:${proxy.port}`));
  [near, far] = servers.map(({ kubeconfig }) => testClient(kubeconfig)) as [TestClient, TestClient];
});
afterAll(async () => {
  near.close();
  far.close();
  for (const { child } of servers) child.kill('SIGKILL');
  await Promise.all(servers.map(({ ended }) => ended));
  await proxy.close();
  await etcd.stop();
  scratch.remove();
});

it('[S11] a server that comes back to an etcd which has compacted what it missed ends its watches with 410, and shows what is there', async () => {
  for (const name of ['anew', 'gone', 'kept'])
    await near.send('POST', classes, { headers, body: named(name) });
  const list = JSON.parse((await far.send('GET', classes)).text) as {
    metadata: { resourceVersion: string };
    items: Line['object'][];
  };
  const before = list.items.find(({ metadata }) => metadata.name === 'anew')?.metadata.uid;
  const { resourceVersion } = list.metadata;
  const watch = (version: string, seconds: number): ReturnType<TestClient['send']> =>
    far.send('GET', `${classes}?watch=true&resourceVersion=${version}&timeoutSeconds=${seconds}`);
  const watching = watch(resourceVersion, 55);

  proxy.mode = 'blackhole';
  proxy.cut();
  for (const name of ['anew', 'gone'])
    expect((await near.send('DELETE', `${classes}/${name}`)).status).toBe(200);
  await near.send('POST', classes, { headers, body: named('anew') });
  const store = new EtcdStore({ endpoints: etcd.urls, env: realEnv() });
  await store.compact((await store.read({ from: '/', to: '0' }, { limit: 1 })).revision);
  await store.close();
  proxy.mode = 'pass';
  proxy.cut();

  const lines = (await watching).text.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as Line)).toMatchObject([
    { type: 'ERROR', object: { code: 410 } },
  ]);
  expect((await watch(resourceVersion, 1)).text).toContain('"code":410');
  const now = JSON.parse((await far.send('GET', classes)).text) as typeof list;
  expect(now.items.map(({ metadata }) => metadata.name)).toEqual(['anew', 'default', 'kept']);
  expect(now.items[0]?.metadata.uid).not.toBe(before);
  // A client that lists again goes on without another 410.
  const again = watch(now.metadata.resourceVersion, 2);
  await near.send('POST', classes, { headers, body: named('later') });
  const told = (await again).text.trim().split('\n');
  expect(told.map((line) => (JSON.parse(line) as Line).type)).toEqual(['ADDED']);
}, 120_000);
