import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import { decisionLimitsDefault } from '../model/decisions.js';
import { decided } from '../objects/decisions/decision.fixture.js';
import { openDecisionLog } from './open-decisions.js';
import { startServerIn, type TestServer } from './running.fixture.js';
import { type Answer, testClient } from './test-client.fixture.js';
import { startTwoServers, type TwoServers } from './two-servers.fixture.js';

/** Keeps decisions in the directory of a server that is not running, as its scheduler would have. */
async function keepIn(dir: string, decisions: readonly (readonly [string, string[]])[]): Promise<string[]> {
  const opened = await openDecisionLog({
    ...{ dir, env: realEnv(), limits: decisionLimitsDefault },
    onProblem: (line) => {
      throw new Error(line);
    },
  });
  const { log } = opened;
  const names = decisions.map(([workload, nodes]) => {
    const name = log.newName();
    log.append(decided(name, workload, nodes));
    return name;
  });
  await opened.close();
  return names;
}

const apis = '/apis/berth.dev/v1';
const workloadsIn = ({ text }: Answer): string[] =>
  (JSON.parse(text) as { items: { spec: { workload: string } }[] }).items.map(({ spec }) => spec.workload);

describe('decisions over the API', () => {
  const scratch = scratchDirectory('decisions');
  let names: string[];
  let server: TestServer;
  beforeAll(async () => {
    names = await keepIn(scratch.path, [
      ['score', ['n1', 'n2']],
      ['train', []],
      ['score', ['n2']],
    ]);
    server = await startServerIn(scratch.path);
  });
  afterAll(async () => {
    const { defects } = server;
    await server.dispose();
    scratch.remove();
    if (defects.length > 0) throw new Error(`the server met its own defects: ${String(defects[0])}`);
  });
  const list = (query = '', namespace = 'fraud'): Promise<Answer> =>
    server.send('GET', `${apis}/namespaces/${namespace}/decisions?${query}`);
  const selected = async (selector: string): Promise<string[]> =>
    workloadsIn(await list(`fieldSelector=${encodeURIComponent(selector)}`));

  it('are got by name after a restart of the server', async () => {
    const { status, text } = await server.send('GET', `${apis}/namespaces/fraud/decisions/${names[0]}`);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ kind: 'Decision', metadata: { name: names[0] } });
  });

  it('are said not to be kept in one line', async () => {
    const { status, text } = await server.send('GET', `${apis}/namespaces/fraud/decisions/none`);
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({
      reason: 'NotFound',
      message: 'decision fraud/none is not kept, or not any more',
    });
  });

  it('are listed newest first, by workload, replica, node and result', async () => {
    expect(workloadsIn(await list())).toEqual(['score', 'train', 'score']);
    expect(workloadsIn(await list('', 'billing'))).toEqual([]);
    expect(workloadsIn(await server.send('GET', `${apis}/decisions`))).toHaveLength(3);
    expect(await selected('spec.workload=train')).toEqual(['train']);
    expect(await selected('spec.choices.replica=score-1-1')).toEqual(['score']);
    expect(await selected('spec.choices.node=n2')).toEqual(['score', 'score']);
    expect(await selected('spec.result=NotPlaced')).toEqual(['train']);
    expect(await selected('spec.result!=NotPlaced,spec.choices.node=n1')).toEqual(['score']);
  });

  it('are listed page by page', async () => {
    const first = await list('limit=2');
    const { metadata } = JSON.parse(first.text) as {
      metadata: { continue: string; remainingItemCount?: number };
    };
    const second = await list(`limit=2&continue=${metadata.continue}`);
    expect([...workloadsIn(first), ...workloadsIn(second)]).toEqual(['score', 'train', 'score']);
  });

  it.each([
    ['GET', `${apis}/decisions?watch=true`, 'a watch is not possible on decisions'],
    ['POST', `${apis}/namespaces/fraud/decisions`, 'POST is not possible on decisions'],
    ['DELETE', `${apis}/namespaces/fraud/decisions/x`, 'DELETE is not possible on decisions'],
  ])('are not for %s %s', async (method, path, message) => {
    const answer = await server.send(method, path, { headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(405);
    expect(answer.text).toContain(message);
  });

  it('of other tenants are not shown to a tenant', async () => {
    await server.send('POST', `${apis}/tenants`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name: 'billing' }, spec: {} }),
    });
    const as = testClient(await server.kubeconfigFor({ kind: 'tenant', tenant: 'billing', role: 'owner' }));
    expect((await as.send('GET', `${apis}/namespaces/fraud/decisions`)).status).toBe(403);
    expect((await as.send('GET', `${apis}/decisions`)).status).toBe(403);
    expect((await as.send('GET', `${apis}/namespaces/billing/decisions`)).status).toBe(200);
    as.close();
  });

  it('are shown by kubectl as a table', async () => {
    const { stdout, stderr } = await run('kubectl', [
      '--kubeconfig',
      server.kubeconfig,
      '-n',
      'fraud',
      'get',
      'decisions',
    ]);
    expect(stderr).toBe('');
    expect(stdout.split('\n').map((line) => line.split(/\s{2,}/).slice(1, 3))).toMatchObject([
      ['WORKLOAD', 'RESULT'],
      ['score', 'Placed'],
      ['train', 'NotPlaced'],
      ['score', 'Placed'],
      [],
    ]);
  });
});

describe('decisions of two servers on one etcd', () => {
  let etcd: EtcdCluster;
  let two: TwoServers;
  let names: string[];
  beforeAll(async () => {
    etcd = await startEtcd();
    two = await startTwoServers(etcd, 'decisions', async (path) => {
      const [a, b] = await Promise.all([
        keepIn(join(path, 'a'), [['from-a', []]]),
        keepIn(join(path, 'b'), [['from-b', []]]),
      ]);
      names = [...a, ...b];
    });
  });
  afterAll(async () => {
    await two.close();
    await etcd.stop();
  });

  it('are got and listed from either, until one is gone, which the other then says', async () => {
    const [a, b] = two.clients;
    for (const client of two.clients) {
      expect(workloadsIn(await client.send('GET', `${apis}/decisions`)).toSorted()).toEqual([
        'from-a',
        'from-b',
      ]);
      for (const name of names)
        expect((await client.send('GET', `${apis}/namespaces/fraud/decisions/${name}`)).status).toBe(200);
    }
    expect(workloadsIn((await a?.send('GET', `${apis}/decisions?keptHere=true`)) as Answer)).toEqual([
      'from-a',
    ]);
    two.servers[0]?.child.kill('SIGKILL');
    await two.servers[0]?.ended;
    const left = (await b?.send('GET', `${apis}/decisions`)) as Answer;
    expect(workloadsIn(left)).toEqual(['from-b']);
    expect(String(left.headers['warning'])).toMatch(/the decisions of server \S+ are missing: /);
    const gone = (await b?.send('GET', `${apis}/namespaces/fraud/decisions/${names[0]}`)) as Answer;
    expect(gone.status).toBe(503);
    expect(gone.text).toContain('which does not answer');
  });
});
