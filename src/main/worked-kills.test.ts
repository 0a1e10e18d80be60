import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkedAgent } from './worked-agent.fixture.js';
import { startAgent } from './worked-agent.fixture.js';
import { WorkedCell } from './worked.fixture.js';

type Step = 'kill server' | 'kill agent' | 'start server' | 'start agent';
const orders: readonly (readonly [Step, Step, ...Step[]])[] = [
  ['kill server', 'start server'],
  ['kill agent', 'start agent'],
  ['kill server', 'kill agent', 'start server', 'start agent'],
  ['kill server', 'kill agent', 'start agent', 'start server'],
  ['kill agent', 'kill server', 'start server', 'start agent'],
  ['kill agent', 'kill server', 'start agent', 'start server'],
];

describe('a server and an agent, killed and started again in every order', () => {
  let cell: WorkedCell;
  let agent: WorkedAgent;
  beforeAll(async () => {
    cell = await WorkedCell.start('worked-kills');
    agent = await startAgent(cell, 'node-real', cell.url);
    await cell.untilFresh(['node-real']);
  }, 120_000);
  afterAll(async () => {
    await agent.close();
    await cell.close();
  });

  // Every execution says so, once, in a file that outlives everybody.
  const witness = () => join(cell.dir, 'executions');
  const executions = (): string[] => readFileSync(witness(), 'utf8').trim().split('\n').toSorted();
  const wanted = (replicas: number, execution: 'AtLeastOne' | 'AtMostOne') => ({
    ...{ type: 'Service', replicas },
    template: {
      run: {
        process: {
          command: ['sh', '-c', `echo $BERTH_REPLICA $BERTH_EXECUTION >> ${witness()}; exec sleep 3000`],
        },
      },
      resources: { cpu: '10m', memory: '16Mi' },
      execution,
    },
    // However slow this machine is, its silence is not taken for a loss.
    ...(execution === 'AtLeastOne' && { onNodeLost: { action: 'Replace', afterSeconds: 600 } }),
  });
  const put = async (replicas: number): Promise<void> => {
    await cell.put('workloads', 'many', wanted(replicas, 'AtLeastOne'), 'default');
    await cell.put('workloads', 'once', wanted(replicas, 'AtMostOne'), 'default');
  };
  const pids = async (): Promise<Readonly<Record<string, string | undefined>>> =>
    Object.fromEntries(
      [...(await cell.replicas('many')), ...(await cell.replicas('once'))].map(({ metadata, status }) => [
        metadata.name,
        status?.driverId,
      ]),
    );

  const steps: Readonly<Record<Step, () => Promise<void>>> = {
    'kill server': () => cell.endServer('SIGKILL'),
    'kill agent': () => agent.end('SIGKILL'),
    'start server': () => cell.startServer(),
    'start agent': () => Promise.resolve(agent.start()),
  };

  it.each(orders.map((order, index) => [order.join(', '), order, index + 1] as const))(
    '[L4] [S5] %s: the same work runs on, what was on its way comes once, and accounts add up',
    async (_, order, replicas) => {
      const before = await pids();
      // Some are always on their way when the first one is killed.
      await put(replicas);
      for (const step of order) await steps[step]();
      await cell.untilServing('many', replicas);
      await cell.untilServing('once', replicas);
      expect(await pids()).toMatchObject(before);
      const names = Object.keys(await pids());
      expect(executions()).toEqual(names.map((name) => `${name} 1`).toSorted());
      await cell.auditOrThrow();
    },
    180_000,
  );
});
