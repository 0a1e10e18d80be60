import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../testing/free-port.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { type BerthProcess, endSupervisor, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

interface Line {
  readonly level: string;
  readonly time: string;
  readonly component: string;
  readonly msg: string;
}

const soon = { timeout: 60_000, interval: 200 };
const json = { 'content-type': 'application/json' };
const planted = [
  'planted-environment',
  'planted-bearer-of-a-stranger-123',
  'planted-basic',
  'planted-argument',
] as const;
const [environment, bearer, basic, argument] = planted;

/** A server with this machine as a node, and an agent of its own, which meet secrets in every way that they can. */
describe('the logs of a server and an agent', () => {
  const scratch = scratchDirectory('server-log');
  const at = (name: string): string => join(scratch.path, name);
  let server: BerthProcess;
  let agent: BerthProcess;
  let client: TestClient;
  let secret = '';
  const started: BerthProcess[] = [];
  const flags = ['--log-format', 'json', '--log-level', 'debug'];
  const post = async (path: string, body: object): Promise<string> => {
    const { status, text } = await client.send('POST', path, { headers: json, body: JSON.stringify(body) });
    expect([status, text]).toEqual([201, expect.anything()]);
    return text;
  };
  const stagesOf = async (workload: string): Promise<string> => {
    const { text } = await client.send('GET', '/apis/berth.dev/v1/namespaces/default/replicas');
    const { items } = JSON.parse(text) as {
      items: readonly { spec: { workload: string }; status?: { stage: string } }[];
    };
    return items
      .filter(({ spec }) => spec.workload === workload)
      .map(({ status }) => status?.stage ?? '')
      .join();
  };

  beforeAll(async () => {
    server = await startBerth(['up', '--dir', at('up'), '--port', '0', '--dns', '127.0.0.1:0', ...flags]);
    started.unshift(server);
    client = testClient(server.kubeconfig);
    const token = await post('/apis/authentication.berth.dev/v1/tokens', {
      spec: { join: { node: 'n2' }, ttl: '1h' },
    });
    secret = (JSON.parse(token) as { status: { token: string } }).status.token;
    writeFileSync(at('token'), secret);
    const config = {
      ...{ apiVersion: 'berth.dev/v1', kind: 'AgentConfig', metadata: { name: 'n2' } },
      spec: { metrics: `127.0.0.1:${await freePort()}`, ...(process.getuid?.() === 0 && { runAs: 'root' }) },
    };
    writeFileSync(at('config.json'), JSON.stringify(config));
    agent = await startBerth([
      ...['agent', '--server', server.url, '--token-file', at('token'), '--dir', at('n2'), '--name', 'n2'],
      ...['--config', at('config.json'), '--stop-jobs', ...flags],
    ]);
    started.unshift(agent);
  }, 120_000);
  afterAll(async () => {
    for (const each of started) {
      each.child.kill('SIGTERM');
      await each.ended;
    }
    client.close();
    for (const dir of ['n2', 'up/agent']) endSupervisor(at(dir));
    scratch.remove();
  }, 60_000);

  const linesOf = (running: BerthProcess): readonly Line[] =>
    running
      .complained()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);

  it('have one JSON object for each event, with its time, its level and who tells it', () => {
    for (const running of [server, agent]) {
      const lines = linesOf(running);
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines)
        expect(line).toMatchObject({
          level: expect.stringMatching(/^(error|warn|info|debug)$/) as string,
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
          component: expect.stringMatching(/^[a-z-]+$/) as string,
          msg: expect.any(String) as string,
        });
    }
    const told = linesOf(server).map(({ component, msg }) => `${component}: ${msg}`);
    expect(told).toContain('server: listens');
    expect(told).toContain('leader: this server leads');
    expect(linesOf(agent).map(({ component, msg }) => `${component}: ${msg}`)).toEqual(
      expect.arrayContaining(['agent: starts as a node', 'connection: connected']),
    );
  });

  it('hold no token, no key and nothing of the environment or the arguments of a job', async () => {
    const env = [{ name: 'PASSWORD', value: environment }];
    const workload = (name: string, run: object): object => ({
      ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name } },
      spec: { type: 'Batch', batch: { backoffLimit: 0 }, template: { run: { ...run, env } } },
    });
    const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';
    await post(workloads, workload('prints', { process: { command: ['sh', '-c', 'env; exit 3'] } }));
    await post(workloads, workload('missing', { process: { command: ['/no/such/program', argument] } }));
    for (const authorization of [
      `Bearer ${bearer}`,
      `Bearer berth_0123456789abcdef_${'A'.repeat(43)}`,
      `Bearer ${secret.split('.')[0]}`,
      `Basic ${basic}`,
      basic,
    ])
      expect((await client.sendAnonymously('GET', workloads, { authorization })).status).toBeGreaterThan(400);
    // Refused: it was used.
    const again = startBerth([
      ...[
        'agent',
        '--server',
        server.url,
        '--token-file',
        at('token'),
        '--dir',
        at('n3'),
        '--name',
        'n3',
        ...flags,
      ],
    ]);
    const refused = await again.then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(refused).toContain('the token has been used');
    for (const name of ['prints', 'missing'])
      await expect.poll(() => stagesOf(name), soon).toMatch(/^Failed/);
    for (const each of [agent, server]) each.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
    expect(await server.ended).toBe(0);

    const config = JSON.parse(readFileSync(server.kubeconfig, 'utf8')) as {
      users: readonly [{ user: Readonly<Record<string, string>> }];
    };
    const identity = JSON.parse(readFileSync(at('n2/identity.json'), 'utf8')) as { privateKey: string };
    const secrets = [
      ...planted,
      secret.slice(-20),
      /_([A-Za-z0-9_-]{43})/.exec(secret)?.[1] ?? secret,
      config.users[0].user['client-key-data']?.slice(100, 160) ?? '',
      identity.privateKey.split('\n')[1] ?? '',
    ];
    const logs = [server.complained(), agent.complained(), refused].join('\n');
    expect(secrets.filter((each) => each.length < 10)).toEqual([]);
    expect(secrets.filter((each) => logs.includes(each))).toEqual([]);
  }, 120_000);
});
