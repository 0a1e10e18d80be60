import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { realEnv } from '../env/real.js';
import { CertificateStore } from '../serve/identity/certificate-store.js';
import { EtcdStore } from '../store/etcd.js';
import { writeKubeconfig } from './kubeconfig.js';
import { type SessionNode, startSessionNode } from './session-node.fixture.js';
import { sharedAuthority } from './shared-authority.js';
import { startTwoServers, type TwoServers } from './two-servers.fixture.js';

const soon = { timeout: 60_000, interval: 200 };
const replicas = '/apis/berth.dev/v1/namespaces/default/replicas';

describe('sessions with a node that is connected to another server', { timeout: 120_000 }, () => {
  let etcd: EtcdCluster;
  let two: TwoServers;
  let node: SessionNode;
  beforeAll(async () => {
    etcd = await startEtcd();
    two = await startTwoServers(etcd, 'two-server-sessions');
    const env = realEnv();
    const store = new EtcdStore({ endpoints: etcd.urls, env });
    const shared = await sharedAuthority(store, env);
    await store.close();
    const dir = join(two.path, 'node');
    const { authority } = await CertificateStore.open({ dir, env, hosts: [], authority: shared });
    const { certificatePem, privateKeyPem } = await authority.issueClient(
      { kind: 'node', node: 'n1' },
      3_600_000,
    );
    const kubeconfig = join(dir, 'kubeconfig');
    writeKubeconfig(kubeconfig, {
      ...{ server: two.servers[1]?.url ?? '', ca: authority.certificatePem },
      ...{ certificate: certificatePem, key: privateKeyPem },
    });
    const answersAfterMs = 6_000;
    node = await startSessionNode({ node: 'n1', kubeconfig, dir: join(dir, 'logs'), answersAfterMs });
  }, 120_000);
  afterAll(async () => {
    await node.close();
    await two.close();
    await etcd.stop();
  });

  it('are passed on by whichever server is asked, and it says so when none has the node', async () => {
    const [a, b] = two.clients;
    const workload = {
      ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name: 'web' } },
      spec: { template: { run: { process: { command: ['x'] } } } },
    };
    const headers = { 'content-type': 'application/json' };
    await a?.send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', {
      ...{ headers, body: JSON.stringify(workload) },
    });
    await expect.poll(() => node.isRunning('web-0-1'), soon).toBe(true);
    const log = await node.log('web-0-1', 1);
    log.write('stdout', Buffer.from('far away\n'));
    await log.close();
    const read = async (client: typeof a) => {
      const answer = await client?.send('GET', `${replicas}/web-0-1/log`);
      return `${answer?.status} ${answer?.text}`;
    };
    await expect.poll(() => read(a), soon).toBe('200 far away\n');
    await expect.poll(() => read(b), soon).toBe('200 far away\n');
    // What replicas use is told to the server that has the stream, and known to whoever asks either.
    const told = async (client: typeof a, query = ''): Promise<unknown> =>
      JSON.parse((await client?.send('GET', `/usage?namespace=default${query}`))?.text ?? '{}');
    const known = {
      ...{ more: 0, unanswered: [] },
      items: [{ name: 'web-0-1', node: 'n1', restarts: 3, oomKills: 1 }],
    };
    await expect.poll(() => told(a), soon).toMatchObject(known);
    expect(await told(b)).toMatchObject(known);
    expect(await told(a, '&knownHere=true')).toMatchObject({ items: [] });
    await node.close();
    await expect.poll(() => read(a), soon).toMatch(/^503 .*"reason":"NodeNotConnected"/);
  });
});
