import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import type { Runner } from '../runner.js';
import { execBeside } from '../process/exec-beside.js';
import { askProbe } from './ask-probe.js';
import { NetworkProbes } from './network-probes.js';
import type { Probe } from './probe-streak.js';

describe('probes over the network', () => {
  const server = createServer(({ url }, response) => {
    if (url === '/silent') return;
    response.writeHead(url === '/moved' ? 302 : url === '/busy' ? 503 : 200, { location: '/busy' });
    response.end('x'.repeat(100_000));
  });
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => void server.close());

  const probes = new NetworkProbes(realEnv());
  const ask = (path: string | undefined, at = port, timeoutMs = 30_000): Promise<string | undefined> =>
    new Promise((resolve) => probes.ask({ host: '127.0.0.1', port: at, path, timeoutMs }, resolve));

  it('pass if a connection can be made, or a status from 200 to 399 is answered', async () => {
    expect(await ask(undefined)).toBeUndefined();
    expect(await ask('/ready')).toBeUndefined();
    expect(await ask('/moved')).toBeUndefined();
  });

  it('[L6] say what is wrong otherwise', async () => {
    expect(await ask('/busy')).toBe(`GET /busy on port ${port}: answered with 503`);
    expect(await ask('/silent', port, 50)).toBe(`GET /silent on port ${port}: no answer within 0.05 s`);
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port: free } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect(await ask(undefined, free)).toContain(`port ${free}: connect ECONNREFUSED`);
    expect(await ask('/', free)).toContain(`GET / on port ${free}: connect ECONNREFUSED`);
  });

  it('that cannot be asked are answered all the same: what a tenant writes does not end an agent', async () => {
    const exec: Runner['exec'] = (_, { command }, ears) =>
      execBeside(['/bin/sh', '-c', '"$@"', 'sh', ...command], {}, ears, {
        ...{ directory: '/', variables: {}, env: realEnv() },
        ...{ pids: () => [], onOver: () => undefined },
      });
    const probed = { ...{ uid: 'a', host: '127.0.0.1', ports: {}, env: {} }, runner: { exec } };
    const problemOf = (probe: Probe): Promise<string | undefined> =>
      new Promise((resolve) => askProbe({ env: realEnv(), caller: probes }, probe, probed, resolve));
    expect(await problemOf({ http: { port, path: '/a b' } })).toMatch(/^it cannot be asked: .*unescaped/);
    expect(await problemOf({ exec: { command: ['true', 'a\0b'] } })).toMatch(
      /^it cannot be asked: .*null byte/,
    );
  });
});
