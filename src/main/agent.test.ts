import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readFileSync } from 'node:fs';
import { freePort } from '../../testing/free-port.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { projectRoot } from '../../testing/source-tree.js';
import type { Replica } from '../model/kinds/replica.js';
import { type BerthProcess, endSupervisor, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

const soon = { timeout: 60_000, interval: 100 };
const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';
const replicas = '/apis/berth.dev/v1/namespaces/default/replicas';

describe('berth up, with this machine as a node', () => {
  const scratch = scratchDirectory('agent');
  let server: BerthProcess;
  let client: TestClient;
  const start = async (...words: string[]): Promise<void> => {
    server = await startBerth(['up', '--dir', join(scratch.path, 'data'), '--port', '0', ...words]);
    client = testClient(server.kubeconfig);
  };
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    client.close();
    server.child.kill(signal);
    await server.ended;
  };
  beforeAll(() => start());
  afterAll(async () => {
    await stop('SIGTERM');
    endSupervisor(join(scratch.path, 'data/agent'));
    scratch.remove();
  });

  const apply = async (workload: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await client.send('POST', workloads, {
      headers,
      body: JSON.stringify(workload),
    });
    expect([status, text]).toEqual([201, expect.anything()]);
  };
  const list = async (workload: string): Promise<readonly Replica[]> => {
    const { text } = await client.send('GET', replicas);
    const { items } = JSON.parse(text) as { items: Replica[] };
    return items.filter(({ spec }) => spec.workload === workload);
  };
  const shown = async (workload: string): Promise<string[]> =>
    (await list(workload)).map(
      ({ metadata, status }) => `${metadata.name} ${status?.stage} ${status?.executions}`,
    );
  const pidsOf = async (workload: string): Promise<number[]> =>
    (await list(workload)).map(({ status }) => Number(status?.driverId));
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const processOf = (name: string, command: readonly string[], template: object = {}, spec: object = {}) => ({
    ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name } },
    spec: { type: 'Service', template: { run: { process: { command } }, ...template }, ...spec },
  });

  it('runs the example: ready by its probe, its variables set, its port its own', async () => {
    const text = readFileSync(join(projectRoot, 'examples/hello.yaml'), 'utf8');
    // One of them, at a port that nothing else on the machine has: what else listens here is not this cell's to know.
    const own = text.replace('replicas: 2', 'replicas: 1').replace('[http]', `['http:${await freePort()}']`);
    await apply(parse(own) as object);
    await expect.poll(() => shown('hello'), soon).toEqual(['hello-0-1 Serving 1']);
    const greetings = await Promise.all(
      (await list('hello')).map(async ({ status }) => {
        const answer = await fetch(`http://127.0.0.1:${status?.charge?.ports?.['http']}/`);
        return answer.text();
      }),
    );
    expect(greetings).toEqual(['hello from hello-0-1, execution 1']);
  }, 90_000);

  it('restarts what dies on the node, and counts it', async () => {
    const [pid = 0] = await pidsOf('hello');
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => shown('hello'), soon).toEqual(['hello-0-1 Serving 2']);
    expect((await pidsOf('hello'))[0]).not.toBe(pid);
  }, 90_000);

  it('[L4] finds the same processes again after it was killed', async () => {
    const pids = await pidsOf('hello');
    await stop('SIGKILL');
    expect(pids.map(isAlive)).toEqual([true]);
    await start();
    expect(await pidsOf('hello')).toEqual(pids);
    await expect.poll(() => shown('hello'), soon).toEqual(['hello-0-1 Serving 2']);
    expect(pids.map(isAlive)).toEqual([true]);
  }, 90_000);

  it('[L6] gives up what goes on failing, and says why on the replica and in why', async () => {
    await apply(
      processOf('broken', ['sh', '-c', 'echo no >&2; exit 3'], {
        restart: { budget: 1, windowSeconds: 600 },
      }),
    );
    const said = async (): Promise<string> => {
      const failed = (await list('broken')).find(({ status }) => status?.stage === 'Failed');
      if (failed === undefined) return '';
      const { exitCode, executions, message, transitions } = failed.status ?? {};
      const why = await client.send('GET', `${replicas}/${failed.metadata.name}/why`);
      const isTold = why.text.includes('RestartBudgetSpent');
      return [transitions?.at(-1)?.reason, exitCode, executions, message, isTold].join(' ');
    };
    await expect
      .poll(said, soon)
      .toBe(
        'RestartBudgetSpent 3 2 exited with 3; it was restarted 1 times within 600 s, which is all it may be true',
      );
    await client.send('DELETE', `${workloads}/broken`);
  }, 90_000);

  it('has a batch done that exits with 0, and one failed that does not, without a restart', async () => {
    const batch = { type: 'Batch', replicas: 1, batch: { completions: 1, backoffLimit: 0 } };
    await apply(processOf('done', ['true'], {}, batch));
    await apply(processOf('undone', ['false'], {}, batch));
    await expect.poll(() => shown('done'), soon).toEqual(['done-0-1 Succeeded 1']);
    await expect.poll(() => shown('undone'), soon).toEqual(['undone-0-1 Failed 1']);
  }, 90_000);

  it('[L5] fails what is not ready in time, naming the step', async () => {
    const readiness = { exec: { command: ['sh', '-c', 'echo not yet; exit 1'] }, periodSeconds: 1 };
    await apply(processOf('slow', ['sleep', '600'], { readiness, startDeadlineSeconds: 3 }));
    const said = async (): Promise<string> =>
      (await list('slow')).find(({ status }) => status?.stage === 'Failed')?.status?.message ?? '';
    await expect
      .poll(said, soon)
      .toBe('not ready within 3 s; at WaitingForReadiness: sh exited with 1: not yet');
    await client.send('DELETE', `${workloads}/slow`);
  }, 90_000);

  it('ends its jobs at a clean stop, and starts them again after it', async () => {
    const pids = await pidsOf('hello');
    await stop('SIGTERM');
    expect(pids.map(isAlive)).toEqual([false]);
    await start();
    await expect.poll(() => shown('hello'), soon).toEqual(['hello-0-1 Serving 3']);
  }, 90_000);

  it('leaves them alone at one with --keep-jobs', async () => {
    await stop('SIGTERM');
    await start('--keep-jobs');
    await expect.poll(() => shown('hello'), soon).toEqual(['hello-0-1 Serving 4']);
    const pids = await pidsOf('hello');
    await stop('SIGTERM');
    expect(pids.map(isAlive)).toEqual([true]);
    await start();
    expect(await pidsOf('hello')).toEqual(pids);
  }, 90_000);
});
