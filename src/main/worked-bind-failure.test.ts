import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { freePort } from '../../testing/free-port.js';
import { startProxy, type TcpProxy } from '../../testing/tcp-proxy.js';
import type { Lease } from '../model/kinds/lease.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';
import { isLive, type Played, shortLease, within, WorkedCell } from './worked.fixture.js';

const pool = (name: string, more = '') =>
  '  profiles: { pulling: { startSeconds: [8, 8] } }\n' +
  `  pools: [{ name: p, names: [${name}], capacity: { cpu: "4", memory: 8Gi }${more} }]\n`;

// However slow this machine is: nothing is replaced here while its node is silent.
const patient = { onNodeLost: { action: 'Replace', afterSeconds: 600 } };

/**
 * One server has the authority and all controllers, another one schedules. Between them, and between the second one and
 * the store, stand proxies that lose what a network may lose.
 */
describe('000-bind-during-node-failure: the answer to a bind is lost, and its node falls silent', () => {
  let etcd: EtcdCluster;
  let toStore: TcpProxy;
  let toAuthority: TcpProxy;
  let cell: WorkedCell;
  let scheduling: BerthProcess;
  let client: TestClient;
  let b7: Played;
  beforeAll(async () => {
    etcd = await startEtcd();
    toStore = await startProxy(Number(new URL(etcd.urls[0] ?? '').port));
    const port = await freePort();
    toAuthority = await startProxy(port);
    const advertised = `https://127.0.0.1:${toAuthority.port}`;
    cell = await WorkedCell.start('worked-bind', {
      store: `etcd:${etcd.urls.join()}`,
      listen: `127.0.0.1:${port}`,
      flags: ['--no-scheduler', '--advertise', advertised],
    });
    // First alone, so that it holds every lease but the scheduler's.
    await cell.eventually('it holds all leases', async () => {
      const { items } = await cell.get<{ items: Lease[] }>('leases');
      const held = items.filter(({ spec }) => spec.holder !== '' && spec.address === advertised);
      return held.some(({ metadata }) => metadata.name === 'authority') && held.length >= 5;
    });
    scheduling = await startBerth([
      ...['server', '--store', `etcd:http://127.0.0.1:${toStore.port}`, '--dir', join(cell.dir, 'b')],
      ...['--listen', '127.0.0.1:0'],
    ]);
    client = testClient(scheduling.kubeconfig);
    b7 = await cell.play('b7', pool('node-b7', `, profile: pulling, ${shortLease}`));
    await cell.play('c1', pool('node-c1', ', labels: { pool: c }'));
    await cell.untilFresh(['node-b7', 'node-c1']);
    // Both are connected from here on: an operation is sent, not a handshake of which nothing can come.
    await cell.service('earlier', 1, { placement: { nodeSelector: { pool: 'c' } } });
    await cell.untilServing('earlier', 1);
    await cell.ok('cordon node-c1');
  }, 180_000);
  afterAll(async () => {
    client.close();
    scheduling.child.kill('SIGKILL');
    await scheduling.ended;
    await cell.close();
    await toAuthority.close();
    await toStore.close();
    await etcd.stop();
  });

  /** How many operations the scheduling server has asked for, whatever came of them. */
  const operations = async (): Promise<number> => {
    const { text } = await client.send('GET', '/metrics');
    const counts = text.matchAll(/^berth_authority_operations_total\{[^}]*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const unknownOutcomes = async (): Promise<number> => {
    const { text } = await client.send('GET', '/metrics');
    return Number(/route="forwarded",outcome="UnknownOutcome"\} (\d+)/.exec(text)?.[1] ?? 0);
  };
  /** The node is silent until it is late; another one could take the work. */
  const nodeFails = async (): Promise<void> => {
    b7.silence();
    await cell.ok('uncordon node-c1');
    await expect.poll(async () => (await cell.node('node-b7')).status?.gate?.state, within).toBe('Closed');
  };
  const heal = (): void => {
    for (const proxy of [toAuthority, toStore]) {
      proxy.onLost = () => undefined;
      proxy.mode = 'pass';
      proxy.cut();
    }
  };
  /** One replica, bound once, one charge for it. */
  const expectOneBinding = async (workload: string, node: string): Promise<void> => {
    const live = (await cell.replicas(workload)).filter(isLive);
    expect(live.map(({ status }) => status?.binding?.node)).toEqual([node]);
    expect(live[0]?.status?.transitions?.filter(({ to }) => to === 'Bound')).toHaveLength(1);
    expect(live[0]?.status?.conditions?.find(({ type }) => type === 'Bound')?.status).toBe('True');
    expect((await cell.workload(workload)).spec.replicas).toBe(1);
    await cell.auditOrThrow();
  };

  it('[S5] [L8] it had committed: no second bind; the word of its node is waited for, and nothing new comes there', async () => {
    toAuthority.mode = 'swallowReplies';
    const before = await operations();
    await cell.service('risk-api', 1, patient);
    await expect
      .poll(async () => (await cell.replicas('risk-api'))[0]?.status?.binding?.node, within)
      .toBe('node-b7');
    await expect.poll(unknownOutcomes, within).toBeGreaterThan(0);
    await nodeFails();
    heal();
    await cell.service('newcomer', 1);
    const [newcomer] = await cell.untilServing('newcomer', 1);
    expect(newcomer?.status?.binding?.node).toBe('node-c1');
    await expectOneBinding('risk-api', 'node-b7');
    b7.wake();
    await cell.untilServing('risk-api', 1);
    await expectOneBinding('risk-api', 'node-b7');
    expect((await operations()) - before).toBeLessThan(40);
  }, 240_000);

  it('[L2] [L8] it had not committed: bound once, on a fresh candidate, and not where its node is silent', async () => {
    await cell.untilFresh(['node-b7']);
    await cell.ok('cordon node-c1');
    const before = await operations();
    // With the bind everything is lost that its scheduler says from then on.
    const lost = new Promise<void>((resolve) => {
      toAuthority.onLost = () => {
        toStore.mode = 'blackhole';
        resolve();
      };
    });
    toAuthority.mode = 'blackhole';
    await cell.service('risk-api-2', 1, patient);
    await lost;
    await nodeFails();
    expect(await cell.stages('risk-api-2')).toEqual(['Queued']);
    heal();
    await cell.untilServing('risk-api-2', 1);
    await expectOneBinding('risk-api-2', 'node-c1');
    expect((await operations()) - before).toBeLessThan(40);
    b7.wake();
    await cell.untilFresh(['node-b7']);
    await cell.auditOrThrow();
  }, 240_000);
});
