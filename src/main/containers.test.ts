import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../testing/free-port.js';
import { type Podman, startPodman } from '../../testing/podman.js';
import { scratchDirectory } from '../../testing/scratch.js';
import type { Replica } from '../model/kinds/replica.js';
import { type BerthProcess, program, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

const soon = { timeout: 60_000, interval: 200 };
const apis = '/apis/berth.dev/v1/namespaces/default';
const runProgram = promisify(execFile);

describe('berth up on a machine with Podman', { timeout: 180_000 }, () => {
  const scratch = scratchDirectory('containers');
  let podman: Podman;
  let server: BerthProcess;
  let client: TestClient;
  // Other cells on this machine pick from the same ports as this one would.
  let port: number;
  const start = async (): Promise<void> => {
    server = await startBerth(['up', '--dir', join(scratch.path, 'data'), '--port', '0']);
    client = testClient(server.kubeconfig);
  };
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    client.close();
    server.child.kill(signal);
    await server.ended;
  };
  beforeAll(async () => {
    podman = await startPodman();
    process.env['CONTAINER_HOST'] = `unix://${podman.socketPath}`;
    await start();
  }, 180_000);
  afterAll(async () => {
    await stop('SIGTERM');
    delete process.env['CONTAINER_HOST'];
    await podman.stop();
    scratch.remove();
  }, 180_000);

  const berth = async (...words: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], BERTH_CONFIG: server.kubeconfig };
    return (await runProgram(process.execPath, [program, ...words], { env })).stdout;
  };
  const replica = async (name: string): Promise<Replica> =>
    JSON.parse((await client.send('GET', `${apis}/replicas/${name}`)).text) as Replica;
  const stageOf = async (name: string): Promise<string> => {
    const { status } = await replica(name);
    return `${status?.stage} ${status?.executions}`;
  };
  const apply = async (name: string, container: object, template: object = {}): Promise<void> => {
    const body = JSON.stringify({
      ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name } },
      spec: { type: 'Service', template: { run: { container }, ...template } },
    });
    const headers = { 'content-type': 'application/json' };
    expect((await client.send('POST', `${apis}/workloads`, { headers, body })).status).toBe(201);
  };

  it('runs a container that is ready by its probe at the port it has a claim on', async () => {
    port = await freePort();
    const script = 'echo started on $BERTH_PORT_http; exec busybox httpd -f -p $BERTH_PORT_http -h /tmp';
    await apply(
      'web',
      { image: podman.image, command: ['/bin/sh'], args: ['-c', script] },
      {
        resources: { memory: '64Mi', ports: [`http:${port}`] },
        readiness: { tcp: { port: 'http' }, periodSeconds: 1 },
      },
    );
    await expect.poll(() => stageOf('web-0-1'), soon).toMatch(/^(Ready|Serving) 1$/);
    await expect.poll(() => berth('logs', 'web-0-1'), soon).toBe(`started on ${port}\n`);
  });

  it('has commands run in it and files copied, and what is copied is served', async () => {
    expect(await berth('exec', 'web', '--', 'id', '-u')).toBe('65534\n');
    const file = join(scratch.path, 'page');
    writeFileSync(file, 'copied');
    await berth('cp', file, 'web-0-1:/tmp/page');
    expect(await (await fetch(`http://127.0.0.1:${port}/page`)).text()).toBe('copied');
    const back = join(scratch.path, 'back');
    await berth('cp', 'web-0-1:/tmp/page', back);
    expect(readFileSync(back, 'utf8')).toBe('copied');
  });

  it('[L4] finds the same container again after it was killed', async () => {
    const before = (await replica('web-0-1')).status?.driverId;
    await stop('SIGKILL');
    await start();
    await expect.poll(() => stageOf('web-0-1'), soon).toMatch(/^(Ready|Serving) 1$/);
    expect((await replica('web-0-1')).status?.driverId).toBe(before);
    expect(await berth('logs', '--tail', '1', 'web-0-1')).toMatch(/^started on/);
  });

  it('[L6] says on the replica why a container cannot be', async () => {
    await apply('missing', { image: podman.missing }, { restart: { budget: 0 } });
    const said = async (): Promise<string> => JSON.stringify((await replica('missing-0-1')).status ?? {});
    await expect.poll(said, soon).toContain('manifest unknown');
  });

  it('has its log followed through a restart, until it is given up', async () => {
    const command = ['/bin/sh', '-c', 'echo run $BERTH_EXECUTION; sleep 5; exit 1'];
    await apply('crash', { image: podman.image, command }, { restart: { budget: 1 } });
    await expect.poll(() => stageOf('crash-0-1'), soon).toMatch(/ 1$/);
    // Who comes late is told of the second alone.
    expect(await berth('logs', '-f', 'crash-0-1')).toMatch(/^(run 1\n)?run 2\n$/);
  });

  it('ends the containers at a clean stop, and what they wrote stays', async () => {
    const { metadata, status } = await replica('web-0-1');
    const log = join(scratch.path, 'data/agent/logs/default', `web-0-1_${metadata.uid}`, '1-1.jsonl');
    expect(existsSync(log)).toBe(true);
    const pids = await containerPids(status?.driverId ?? '');
    expect(pids).not.toEqual([]);
    await stop('SIGTERM');
    await expect.poll(() => containerPids(status?.driverId ?? ''), soon).toEqual([]);
    expect(existsSync(log)).toBe(true);
    await start();
  });
});

/** Processes in the control group of a container. */
async function containerPids(id: string): Promise<string[]> {
  const { stdout } = await runProgram('sh', ['-c', `grep -l ${id} /proc/[0-9]*/cgroup 2>/dev/null || true`]);
  return stdout.split('\n').filter((line) => line !== '');
}
