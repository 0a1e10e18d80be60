import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import type { Ran } from '../../testing/run-process.js';
import { run } from '../../testing/run-process.js';
import type { Lease } from '../model/kinds/lease.js';
import { startTwoServers, type TwoServers } from '../main/two-servers.fixture.js';
import { startBerth, workloadYaml } from './berth.fixture.js';

const soon = { timeout: 30_000, interval: 200 };
const leaseMs = 15_000;
const fleet = `
apiVersion: berth.dev/v1
kind: Fleet
metadata: { name: small }
spec:
  pools: [{ name: hollow, count: 20, leaseSeconds: ${leaseMs / 1_000}, capacity: { cpu: "8", memory: 16Gi } }]
`;

describe.each(['SIGKILL', 'SIGSTOP'] as const)('when one of two servers is ended by %s', (signal) => {
  let etcd: EtcdCluster;
  let cell: TwoServers;
  let config: string;
  const started: ReturnType<typeof startBerth>[] = [];
  const start = (words: string, input = ''): ReturnType<typeof startBerth> => {
    const running = startBerth(words.split(' '), { env: { BERTH_CONFIG: config }, cwd: cell.path, input });
    started.push(running);
    return running;
  };
  const ok = async (words: string, input = ''): Promise<Ran> => {
    const ran = await start(words, input).ended;
    expect(ran, words).toMatchObject({ status: 0 });
    return ran;
  };
  beforeEach(async () => {
    etcd = await startEtcd();
    cell = await startTwoServers(etcd, 'several-servers');
    config = cell.servers[0]?.kubeconfig ?? '';
  }, 60_000);
  afterEach(async () => {
    for (const { child } of started.splice(0)) child.kill('SIGKILL');
    cell.servers[0]?.child.kill('SIGCONT');
    await cell.close();
    await etcd.stop();
  }, 60_000);

  it('hollow nodes renew at the other before their leases end, commands and watches go on there, and kubectl reads the kubeconfig', async () => {
    const [a = '', b = ''] = cell.servers.map(({ url }) => url);
    await ok(`config set-servers ${a},${b}`);
    const kubectl = await run('kubectl', ['--kubeconfig', config, 'get', 'tenants', '-o', 'name']);
    expect(kubectl).toMatchObject({ status: 0, stdout: 'tenant.berth.dev/default\n' });

    const token = (await ok('token create --identity hollow:hollow- --ttl 1h')).stdout;
    writeFileSync(join(cell.path, 'token'), token);
    writeFileSync(join(cell.path, 'fleet.yaml'), fleet);
    const hollow = start(`hollow --fleet fleet.yaml --token-file token --server ${a},${b}`);
    await expect.poll(hollow.printed, soon).toContain('ready: plays 20 nodes');
    const leases = async (): Promise<readonly number[]> => {
      const answer = await cell.clients[1]?.send('GET', '/apis/berth.dev/v1/leases');
      const { items } = JSON.parse(answer?.text ?? '') as { items: readonly Lease[] };
      const ofNodes = items.filter(({ metadata }) => metadata.name.startsWith('node-hollow-'));
      return ofNodes.map(({ spec }) => Date.now() - Date.parse(spec.renewedAt ?? ''));
    };
    await expect.poll(async () => (await leases()).length, soon).toBe(20);
    const watching = start('get tenants -w -o name');
    await expect.poll(watching.printed, soon).toContain('tenant/default');

    cell.servers[0]?.child.kill(signal);
    const begunAt = performance.now();
    // Commands that name the server which is gone first.
    expect((await ok('get tenants -o name')).stdout).toBe('tenant/default\n');
    await ok('apply -f -', workloadYaml('web', 1));
    expect((await ok(`get wl -o name --server ${a},${b}`)).stdout).toBe('workload/web\n');
    expect((await ok('info')).stdout).toContain(b);
    await ok('apply -f -', 'apiVersion: berth.dev/v1\nkind: Tenant\nmetadata: { name: after }\n');

    let oldestMs = 0;
    while (performance.now() - begunAt < 2 * leaseMs) oldestMs = Math.max(oldestMs, ...(await leases()));
    expect(oldestMs).toBeLessThan(leaseMs);
    expect((await ok('get nodes')).stdout).not.toMatch(/Unknown|Lost/);
    // A watch at a server that is frozen ends when the machine finds nobody there, which no frozen process does.
    if (signal === 'SIGKILL') await expect.poll(watching.printed, soon).toContain('tenant/after');
    expect(hollow.child.exitCode).toBeNull();
  }, 120_000);
});

describe('two servers on one etcd', () => {
  it('name each other in the kubeconfig that they write, and log who leads', async () => {
    const etcd = await startEtcd();
    const cell = await startTwoServers(etcd, 'named-servers');
    try {
      // The server that announced itself last has seen the other.
      const named = cell.servers.map(({ kubeconfig }) => {
        const { clusters } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
          clusters: readonly [{ cluster: { extensions?: readonly [{ extension: { servers: string[] } }] } }];
        };
        return clusters[0].cluster.extensions?.[0].extension.servers;
      });
      const [a = '', b = ''] = cell.servers.map(({ url }) => url);
      expect(named.filter((servers) => servers !== undefined)).not.toEqual([]);
      expect([[a, b], undefined]).toContainEqual(named[0]);
      expect([[b, a], undefined]).toContainEqual(named[1]);
      const leaders = (lease: string): readonly string[] =>
        cell.servers.map(
          (server) =>
            new RegExp(`INFO {2}leader ${lease}: (\\w+) server leads `).exec(server.complained())?.[1] ?? '',
        );
      for (const lease of ['authority', 'detector', 'scheduler'])
        await expect.poll(() => leaders(lease).toSorted(), soon).toEqual(['another', 'this']);
      const detects = leaders('detector').indexOf('this');
      cell.servers[detects]?.child.kill('SIGKILL');
      const successor = cell.servers[1 - detects];
      await expect
        .poll(() => successor?.complained(), { timeout: 60_000, interval: 500 })
        .toMatch(
          / INFO {2}leader detector: this server leads holder=\S+ epoch=1\.2 since=\S+ address=https:\S+$/m,
        );
    } finally {
      await cell.close();
      await etcd.stop();
    }
  }, 120_000);
});
