import { amountsOf } from './amount.js';

const device = 'device/';

/** A resource of `eachResource` as people call it: devices by their class alone. */
export const shownResource = (resource: string): string =>
  resource.startsWith(device) ? resource.slice(device.length) : resource;

/** So much of a resource, as manifests write it: cores and bytes with their suffix. Nobody has less than nothing. */
export function shownCount(resource: string, count: number): string {
  const shown = Math.max(0, count);
  if (resource === 'cpu') return String(amountsOf({ cpuMilli: shown }).cpu);
  if (resource === 'memory') return String(amountsOf({ memoryBytes: shown }).memory);
  return String(shown);
}
