import { existsSync } from 'node:fs';
import { ContainerRunner, type ContainerRunnerParts } from '../agent/drivers/container-runner.js';

/** Where engines listen, first to last: as the environment says, Podman's of this user and of the machine, Docker's. */
export function engineSockets(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const { CONTAINER_HOST, DOCKER_HOST, XDG_RUNTIME_DIR } = environment;
  const said = [CONTAINER_HOST, DOCKER_HOST].flatMap((url) =>
    url?.startsWith('unix://') === true ? [url.slice('unix://'.length)] : [],
  );
  return [
    ...said,
    ...(XDG_RUNTIME_DIR === undefined ? [] : [`${XDG_RUNTIME_DIR}/podman/podman.sock`]),
    ...['/run/podman/podman.sock', '/run/docker.sock', '/var/run/docker.sock'],
  ];
}

/** The containers of this machine; undefined where it has no engine that answers. */
export async function openContainerRunner(
  parts: Omit<ContainerRunnerParts, 'socketPath'> & {
    /** Undefined: the first that is there. */
    readonly socketPath?: string | undefined;
  },
): Promise<ContainerRunner | undefined> {
  const socketPath = parts.socketPath ?? engineSockets(process.env).find((path) => existsSync(path));
  if (socketPath === undefined) return undefined;
  try {
    return await ContainerRunner.open({ ...parts, socketPath });
  } catch (error) {
    parts.onProblem(
      `this node runs no containers: ${socketPath}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return undefined;
  }
}
