import { amountOf } from '../../model/amount.js';
import type { Launch } from '../runner.js';

/** What an engine is asked to make, in the words of its API. */
export interface ContainerSpec {
  readonly Image: string;
  readonly User?: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env: readonly string[];
  readonly WorkingDir?: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly HostConfig: Readonly<Record<string, unknown>>;
}

/** Of the machine: the limits that a container may have at most. */
export interface MachineLimits {
  readonly openFilesMax: number;
  readonly processesMax: number;
}

/** Whose a container is. Names of nodes repeat where one machine has agents of several cells; their directories do not. */
export interface ContainerOwner {
  readonly node: string;
  readonly agent: string;
}

/** Labels by which an agent that was started again finds what it had started. */
export const label = {
  uid: 'dev.berth.uid',
  execution: 'dev.berth.execution',
  tenant: 'dev.berth.tenant',
  workload: 'dev.berth.workload',
  replica: 'dev.berth.replica',
  slot: 'dev.berth.slot',
  node: 'dev.berth.node',
  agent: 'dev.berth.agent',
  fenced: 'dev.berth.fenced',
} as const;

const pidsMax = 4_096;
const openFilesUsual = 65_536;
// Nobody: owns nothing on the machine.
const nobody = '65534:65534';

export const containerName = (uid: string, execution: number): string => `berth-${uid}-${execution}`;

/**
 * A container with no more rights than its work needs: no capabilities and none to gain, not as root, and limits for
 * everything that can be limited. It shares the network of the node: its ports are the ones it has a claim on.
 */
export function containerSpec(
  launch: Launch,
  image: { readonly id: string; readonly user: string },
  { node, agent }: ContainerOwner,
  limits: MachineLimits,
): ContainerSpec {
  const { binding, execution, command, args, env } = launch;
  const { replica, workload, slot, isFenced, template, devices } = binding;
  const { cpuMilli, memoryBytes } = amountOf(template.resources ?? {});
  const workingDirectory = template.run.container?.workingDirectory;
  const openFiles = Math.min(openFilesUsual, limits.openFilesMax);
  const processes = Math.min(pidsMax, limits.processesMax);
  return {
    Image: image.id,
    ...(isRoot(image.user) && { User: nobody }),
    ...(command !== undefined && { Entrypoint: command, Cmd: args ?? [] }),
    ...(command === undefined && args !== undefined && { Cmd: args }),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...(workingDirectory !== undefined && { WorkingDir: workingDirectory }),
    Labels: {
      [label.uid]: replica.uid,
      [label.execution]: String(execution),
      [label.tenant]: replica.tenant,
      [label.workload]: workload,
      [label.replica]: replica.name,
      [label.slot]: slot,
      [label.node]: node,
      [label.agent]: agent,
      [label.fenced]: String(isFenced),
    },
    HostConfig: {
      NetworkMode: 'host',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Init: false,
      RestartPolicy: { Name: 'no' },
      PidsLimit: pidsMax,
      Ulimits: [
        { Name: 'nofile', Soft: openFiles, Hard: openFiles },
        { Name: 'nproc', Soft: processes, Hard: processes },
      ],
      ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
      // A weight, as for processes: at least what it is charged with where others want it too, and what is idle.
      ...(cpuMilli !== undefined && { CpuShares: Math.max(2, Math.round((cpuMilli * 1_024) / 1_000)) }),
      ...devicesOf(devices ?? {}),
      // Read into files of Berth's own; what the engine keeps is only a buffer.
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m' } },
    },
  };
}

const isRoot = (user: string): boolean => ['', '0', 'root'].includes(user.split(':')[0] ?? '');

/** Devices that are files of the machine, and GPUs by their id, which their maker's runtime finds. */
function devicesOf(devices: Readonly<Record<string, readonly string[]>>): Readonly<Record<string, unknown>> {
  const ids = Object.values(devices).flat();
  const paths = ids.filter((id) => id.startsWith('/dev/'));
  const gpus = ids.filter((id) => id.startsWith('GPU-'));
  return {
    ...(paths.length > 0 && {
      Devices: paths.map((path) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rwm' })),
    }),
    ...(gpus.length > 0 && {
      DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: gpus, Capabilities: [['gpu']] }],
    }),
  };
}
