import { type Amount, ownValue } from '../../model/amount.js';

/** Amounts compared coarsely: who surely finds no room is told apart from who may, without a look at any node. */

/** Of each resource the larger of two counts: what fits into one of two rooms fits into this. */
export function mostOf(a: Amount, b: Amount): Amount {
  const devices: Record<string, number> = { ...a.devices };
  for (const name in b.devices)
    devices[name] = Math.max(ownValue(devices, name) ?? 0, b.devices[name] as number);
  return {
    cpuMilli: Math.max(a.cpuMilli ?? 0, b.cpuMilli ?? 0),
    memoryBytes: Math.max(a.memoryBytes ?? 0, b.memoryBytes ?? 0),
    devices,
  };
}

/** Whether there may be room for so much. What is not asked for is not missing. */
export function isWithin({ cpuMilli = 0, memoryBytes = 0, devices }: Amount, room: Amount): boolean {
  if (cpuMilli > 0 && cpuMilli > (room.cpuMilli ?? 0)) return false;
  if (memoryBytes > 0 && memoryBytes > (room.memoryBytes ?? 0)) return false;
  for (const name in devices)
    if ((devices[name] as number) > 0 && (devices[name] as number) > (ownValue(room.devices, name) ?? 0))
      return false;
  return true;
}

/** Asks that are alike have one name, so that there are few however many lots there are. */
export function nameOfAsk({ cpuMilli = 0, memoryBytes = 0, devices }: Amount): string {
  const name = `${step(cpuMilli)} ${step(memoryBytes)}`;
  return devices === undefined ? name : `${name} ${JSON.stringify(devices)}`;
}

/** The least that somebody of that name asks for. */
export const leastOfAsk = ({ cpuMilli = 0, memoryBytes = 0, devices }: Amount): Amount => ({
  cpuMilli: floorOf(cpuMilli),
  memoryBytes: floorOf(memoryBytes),
  ...(devices !== undefined && { devices }),
});

// Four steps to each doubling.
const step = (count: number): number => (count <= 0 ? 0 : 1 + Math.floor(4 * Math.log2(count)));
const floorOf = (count: number): number => (count <= 0 ? 0 : Math.floor(2 ** ((step(count) - 1) / 4)));
