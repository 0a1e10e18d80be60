import { readFileSync } from 'node:fs';
import type { Fleet } from '../agent/fleet/read-fleet.js';
import { BerthError } from '../model/errors.js';

/** Which nodes to play: so many that are alike, or those of a file. */
export interface FleetSource {
  readonly hollow?: number;
  readonly fleet?: string;
}

/** The fleet that is asked for; undefined if none is. */
export async function fleetFrom({ hollow, fleet: file }: FleetSource): Promise<Fleet | undefined> {
  if (hollow !== undefined && file !== undefined)
    throw new BerthError('InvalidFleet', 'give a number of nodes or a fleet file, not both');
  if (hollow !== undefined) return (await fleetReader()).plainFleet(hollow);
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BerthError('InvalidFleet', `${file}: ${(cause as Error).message}`, { cause });
  }
  return (await fleetReader()).readFleet(text, file);
}

// With it comes the parser of YAML, which a server without a fleet starts without.
const fleetReader = () => import('../agent/fleet/read-fleet.js');
