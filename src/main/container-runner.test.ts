import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { KeptLogs } from '../agent/logs/kept-logs.js';
import { realEnv } from '../env/real.js';
import { engineSockets, openContainerRunner } from './container-runner.js';

describe('the sockets of engines', () => {
  it('are those of the environment first, then those of Podman and Docker', () => {
    expect(engineSockets({ DOCKER_HOST: 'unix:///x.sock', CONTAINER_HOST: 'tcp://far' })[0]).toBe('/x.sock');
    expect(engineSockets({ XDG_RUNTIME_DIR: '/run/user/7' })).toEqual([
      ...[
        '/run/user/7/podman/podman.sock',
        '/run/podman/podman.sock',
        '/run/docker.sock',
        '/var/run/docker.sock',
      ],
    ]);
  });
});

it('[S5] an engine that was there once is awaited where it does not answer; one that never was is none', async () => {
  const env = realEnv();
  const scratch = scratchDirectory('container-engine');
  const dir = scratch.path;
  const socketPath = join(dir, 'engine.sock');
  const problems: string[] = [];
  const open = () =>
    openContainerRunner({
      ...{ dir, socketPath, node: 'n', agent: 'a', env },
      logs: new KeptLogs({ dir: join(dir, 'logs'), env, isLive: () => true }),
      onProblem: (problem) => void problems.push(problem),
    });
  expect(await open()).toBeUndefined();
  expect(problems.splice(0)).toMatchObject([expect.stringMatching(/^this node runs no containers: /)]);
  const engine = createServer((_, response) => void response.end('[]'));
  await new Promise<void>((resolve) => engine.listen(socketPath, resolve));
  const first = await open();
  expect(first?.awaiting).toBeUndefined();
  await first?.close();
  engine.closeAllConnections();
  await new Promise((resolve) => engine.close(resolve));
  const second = await open();
  expect(second?.awaiting).toBeInstanceOf(Promise);
  await second?.close();
  scratch.remove();
});
