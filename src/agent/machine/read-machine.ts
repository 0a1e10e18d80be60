import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { cpuLimit, groupsOf, memoryLimit, withParents } from './cgroup-limits.js';
import type { Readings } from './machine.js';

// A driver that hangs must not keep the agent from starting.
const gpuTimeoutMs = 10_000;

/** Looks at the machine that this process is on. */
export async function readMachine(): Promise<Readings> {
  const groups = groupsOf(readOr('/proc/self/cgroup') ?? '');
  const least = (limits: readonly (number | undefined)[]): number | undefined => {
    const known = limits.filter((limit) => limit !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  };
  const inEach = <T>(controller: string, look: (dir: string) => T): readonly T[] => {
    const path = groups.get(controller);
    const root = controller === '' ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`;
    return path === undefined ? [] : withParents(path).map((each) => look(join(root, each)));
  };
  return {
    cores: availableParallelism(),
    cpuLimitMilli: least([
      ...inEach('', (dir) => cpuLimit(readOr(join(dir, 'cpu.max')))),
      ...inEach('cpu', (dir) =>
        cpuLimit(
          `${readOr(join(dir, 'cpu.cfs_quota_us')) ?? ''} ${readOr(join(dir, 'cpu.cfs_period_us')) ?? ''}`,
        ),
      ),
    ]),
    memoryBytes: totalmem(),
    memoryLimitBytes: least([
      ...inEach('', (dir) => memoryLimit(readOr(join(dir, 'memory.max')))),
      ...inEach('memory', (dir) => memoryLimit(readOr(join(dir, 'memory.limit_in_bytes')))),
    ]),
    ...{ architecture: arch(), operatingSystem: platform(), gpus: await readGpus() },
  };
}

/** The GPUs that nvidia-smi names; none where it is not there. */
function readGpus(): Promise<readonly string[]> {
  const words = ['--query-gpu=uuid', '--format=csv,noheader'];
  return new Promise((resolve) => {
    execFile('nvidia-smi', words, { timeout: gpuTimeoutMs }, (error, stdout) =>
      resolve(error === null ? gpuIdsIn(stdout) : []),
    );
  });
}

export const gpuIdsIn = (stdout: string): readonly string[] =>
  stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
