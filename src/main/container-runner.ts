import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/**
 * The containers of this machine; undefined where it has no engine that answers and never had one. That it had one is written
 * down: from then on an engine that is away may have containers that run.
 */
export async function openContainerRunner(
  parts: Omit<ContainerRunnerParts, 'socketPath'> & {
    /** The agent's directory. */
    readonly dir: string;
    /** Undefined: the one that there was, or the first that is there. */
    readonly socketPath?: string | undefined;
  },
): Promise<ContainerRunner | undefined> {
  const { dir, onProblem } = parts;
  const file = join(dir, 'container-engine');
  const last = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  const there = engineSockets(process.env).find((path) => existsSync(path));
  const socketPath = parts.socketPath ?? last ?? there;
  if (socketPath === undefined) return undefined;
  try {
    const runner = await ContainerRunner.open({ ...parts, socketPath });
    if (last !== socketPath) writeWhole(file, `${socketPath}\n`);
    return runner;
  } catch (error) {
    if (last !== undefined) return ContainerRunner.await({ ...parts, socketPath });
    onProblem(
      `this node runs no containers: ${socketPath}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return undefined;
  }
}

/** Nothing runs in a container before this is on disk. */
function writeWhole(path: string, text: string): void {
  const next = `${path}.next`;
  writeFileSync(next, text, { mode: 0o600, flush: true });
  renameSync(next, path);
}
