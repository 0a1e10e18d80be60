import { describe, expect, it } from 'vitest';
import { engineSockets } from './container-runner.js';

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
