import type { Fleet } from '../agent/fleet/read-fleet.js';
import { HollowFleet } from '../agent/fleet/hollow-fleet.js';
import type { Env } from '../env/env.js';
import type { NodeStreams } from '../model/node-stream.js';
import { boundedLog } from './bounded-log.js';
import type { Log } from './log.js';

export interface RunFleetParts {
  readonly streams: NodeStreams;
  readonly fleet: Fleet;
  readonly version: string;
  readonly env: Env;
  readonly log: Log;
}

/** Plays the nodes of a fleet until it is closed. */
export function runFleet(parts: RunFleetParts): HollowFleet {
  const { streams, fleet, version, env } = parts;
  const log = boundedLog(parts.log, env);
  const hollow = new HollowFleet({
    ...{ streams, env, version, nodes: fleet.nodes },
    onProblem: (node, message) => log({ level: 'warn', component: 'node', object: node, message }),
  });
  hollow.start();
  return hollow;
}
