import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import { until } from './process-runner.fixture.js';
import { startServer, type TestServer } from './running.fixture.js';
import { ShippedAgent } from './shipped-agent.fixture.js';

const count = 200;

let server: TestServer;
let agent: ShippedAgent;

const replicas = (): Replica[] => [...server.objects.list<Replica>('Replica')];

/** What each replica is on the machine, once all of them are ready. */
const allReady = (): Promise<Map<string, string>> =>
  until(
    `${count} replicas are ready`,
    () => {
      const ready = replicas().filter(
        ({ status }) => status?.stage === 'Ready' || status?.stage === 'Serving',
      );
      return (
        ready.length === count &&
        new Map(
          ready.map(({ metadata, status }) => [metadata.name, `${status?.driverId} ${status?.executions}`]),
        )
      );
    },
    180_000,
  );

beforeAll(async () => {
  server = await startServer();
  agent = await ShippedAgent.joining(
    server,
    { home: server.dir, node: 'n1', url: server.url },
    { allocatable: { cpu: '4', memory: '4Gi' } },
  );
  await agent.start();
}, 120_000);

afterAll(async () => {
  const { supervisor } = agent;
  await agent.close();
  await until('the supervisor has ended its jobs', () => !existsSync(`/proc/${supervisor}`), 120_000);
  await server.dispose();
}, 240_000);

describe('many processes on one machine', () => {
  it(
    `${count} go on under the same pids when their agent is killed and started again, and no restart is counted`,
    {
      timeout: 600_000,
    },
    async () => {
      const { status } = await server.send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', {
        body: JSON.stringify({
          ...{
            apiVersion: 'berth.dev/v1',
            kind: 'Workload',
            metadata: { name: 'many', namespace: 'default' },
          },
          spec: {
            ...{ type: 'Service', replicas: count },
            template: {
              run: { process: { command: ['sleep', '86400'] } },
              resources: { cpu: '10m', memory: '8Mi' },
            },
          },
        }),
      });
      expect(status).toBe(201);
      const before = await allReady();
      await agent.kill();
      for (const pid of pidsIn(before)) expect(existsSync(`/proc/${pid}`), String(pid)).toBe(true);
      await agent.start();
      // Heard again under another epoch, and everything it said since is committed.
      await until('the agent is heard again', () => epochOf('n1') === 2, 120_000);
      const after = await allReady();
      expect(after).toEqual(before);
      for (const executions of [...after.values()].map((each) => each.split(' ')[1]))
        expect(executions).toBe('1');
      for (const pid of pidsIn(after)) expect(existsSync(`/proc/${pid}`), String(pid)).toBe(true);
      expect(new Set(replicas().map(({ metadata }) => metadata.name)).size).toBe(count);
    },
  );
});

const pidsIn = (shown: ReadonlyMap<string, string>): number[] =>
  [...shown.values()].map((each) => Number(each.split(' ')[0]));

const epochOf = (node: string): number | undefined =>
  server.objects.get<Node>('Node', undefined, node)?.status?.epoch?.number;
