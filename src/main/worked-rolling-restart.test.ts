import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { freePort } from '../../testing/free-port.js';
import { realEnv } from '../env/real.js';
import type { Endpoints } from '../model/kinds/endpoints.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';
import { startAgent, type WorkedAgent } from './worked-agent.fixture.js';
import { identityOf, within, WorkedCell } from './worked.fixture.js';

describe('a rolling restart of everything', () => {
  let etcd: EtcdCluster;
  let cell: WorkedCell;
  let other: BerthProcess;
  let otherClient: TestClient;
  let otherListens: string;
  const agents: WorkedAgent[] = [];
  const startOther = async (): Promise<void> => {
    other = await startBerth([
      ...['server', '--store', `etcd:${etcd.urls.join()}`, '--dir', join(cell.dir, 'other')],
      ...['--listen', otherListens],
    ]);
    otherClient = testClient(other.kubeconfig);
  };
  const endOther = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    otherClient.close();
    other.child.kill(signal);
    await other.ended;
  };
  beforeAll(async () => {
    etcd = await startEtcd();
    cell = await WorkedCell.start('worked-rolling', { store: `etcd:${etcd.urls.join()}` });
    otherListens = `${new URL(cell.url).hostname}:${await freePort()}`;
    await startOther();
    for (const node of ['node-one', 'node-two'])
      agents.push(await startAgent(cell, node, `${cell.url},${other.url}`));
    await cell.untilFresh(['node-one', 'node-two']);
  }, 180_000);
  afterAll(async () => {
    for (const agent of agents) await agent.close();
    await endOther('SIGKILL');
    await cell.close();
    await etcd.stop();
  });

  const path = '/apis/berth.dev/v1/namespaces/default/endpoints/risk-api';
  /** What whichever server answers says of where the service is; undefined: none did just now. */
  const listed = async (): Promise<number | undefined> => {
    const answer = await otherClient.send('GET', path).then(
      ({ text }) => JSON.parse(text) as Endpoints,
      () => cell.get<Endpoints>('namespaces/default/endpoints/risk-api').catch(() => undefined),
    );
    return answer?.status?.addresses?.length;
  };

  it('[L3] [L4] the service stays ready throughout, and runs on as it was', async () => {
    const template = {
      run: { process: { command: ['sleep', '3000'] } },
      resources: { cpu: '10m', memory: '16Mi' },
    };
    const placement = { spread: [{ topology: 'Node' }] };
    await cell.put('workloads', 'risk-api', { type: 'Service', replicas: 2, template, placement }, 'default');
    const before = await cell.untilServing('risk-api', 2);
    expect(new Set(before.map(({ status }) => status?.binding?.node)).size).toBe(2);
    await expect.poll(listed, within).toBe(2);

    const stop = new AbortController();
    const seen: number[] = [];
    const watching = (async () => {
      while (!stop.signal.aborted) {
        const now = await listed();
        if (now !== undefined) seen.push(now);
        await realEnv()
          .sleep(100, stop.signal)
          .catch(() => undefined);
      }
    })();
    await cell.endServer('SIGTERM');
    await cell.startServer();
    await endOther('SIGTERM');
    await startOther();
    for (const [index, agent] of agents.entries()) {
      const node = ['node-one', 'node-two'][index] ?? '';
      const epoch = (await cell.node(node)).status?.epoch?.number ?? 0;
      await agent.end('SIGTERM');
      agent.start();
      // One at a time: the next one is restarted when this one is heard again.
      await expect
        .poll(async () => (await cell.node(node)).status?.epoch?.number, within)
        .toBeGreaterThan(epoch);
    }
    await cell.untilFresh(['node-one', 'node-two']);
    const after = await cell.untilServing('risk-api', 2);
    stop.abort();
    await watching;
    expect(seen.length).toBeGreaterThan(10);
    expect(Math.min(...seen)).toBe(2);
    expect(after.map(identityOf)).toEqual(before.map(identityOf));
    expect(after.map(({ status }) => status?.driverId)).toEqual(before.map(({ status }) => status?.driverId));
    await cell.auditOrThrow();
  }, 240_000);
});
