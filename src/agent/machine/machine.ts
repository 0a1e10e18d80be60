import { parseQuantity } from '../../model/quantity.js';
import type { Amounts } from '../../model/parts/amounts.js';
import type { Register } from '../../model/ports.js';
import type { AgentConfigSpec } from './agent-config.js';

/** What a machine says of itself. A limit that is not there is undefined. */
export interface Readings {
  readonly cores: number;
  /** How much of the cores the control groups of this process allow, in thousandths. */
  readonly cpuLimitMilli: number | undefined;
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number | undefined;
  readonly architecture: string;
  readonly operatingSystem: string;
  /** The ids of its GPUs. */
  readonly gpus: readonly string[];
}

const mebi = 1024 * 1024;

// What is not for replicas: the agent, its supervisor, and what the machine itself needs.
const reservedCpuMilli = 100;
const reservedMemoryBytes = 256 * mebi;
const reservedMemoryShare = 0.05;

/**
 * What a machine offers: what it has, or what the control groups of this process leave of it; less what is reserved.
 * What the config declares counts instead of what was found.
 */
export function offerOf(
  readings: Readings,
  config: AgentConfigSpec,
): Pick<Register, 'capacity' | 'allocatable' | 'devices'> {
  const cpuMilli = Math.min(readings.cores * 1_000, readings.cpuLimitMilli ?? Infinity);
  const memoryBytes = Math.min(readings.memoryBytes, readings.memoryLimitBytes ?? Infinity);
  const devices = config.devices ?? (readings.gpus.length === 0 ? {} : { gpu: readings.gpus });
  const counts = Object.fromEntries(Object.entries(devices).map(([name, ids]) => [name, ids.length]));
  const withDevices = (amounts: Amounts): Amounts =>
    Object.keys(counts).length === 0 ? amounts : { ...amounts, devices: counts };
  const reservedBytes = reservedMemoryBytes + memoryBytes * reservedMemoryShare;
  return {
    capacity: withDevices(amountsFrom(cpuMilli, memoryBytes)),
    allocatable: withDevices({
      // A small machine offers something all the same.
      ...amountsFrom(
        Math.max(cpuMilli / 2, cpuMilli - reservedCpuMilli),
        Math.max(memoryBytes / 2, memoryBytes - reservedBytes),
      ),
      ...config.allocatable,
    }),
    devices,
  };
}

const amountsFrom = (cpuMilli: number, memoryBytes: number): Amounts => ({
  cpu: `${Math.floor(cpuMilli)}m`,
  memory: `${Math.floor(memoryBytes / mebi)}Mi`,
});

/** What the config declares that the machine does not have: it is believed, and said. */
export function overstated(readings: Readings, { allocatable = {} }: AgentConfigSpec): readonly string[] {
  const { capacity } = offerOf(readings, {});
  return (['cpu', 'memory'] as const).flatMap((name) => {
    const [declared, there] = [allocatable[name], capacity[name]];
    if (declared === undefined || there === undefined || parseQuantity(declared) <= parseQuantity(there))
      return [];
    return [`spec.allocatable.${name}: ${declared} is more than the ${there} that the machine has`];
  });
}
