import type { Fleet } from '../agent/fleet/read-fleet.js';
import { HollowFleet } from '../agent/fleet/hollow-fleet.js';
import type { Env } from '../env/env.js';
import type { NodeStreams } from '../model/node-stream.js';
import { ProblemLog } from './problem-log.js';

export interface RunFleetParts {
  readonly streams: NodeStreams;
  readonly fleet: Fleet;
  readonly version: string;
  readonly env: Env;
  readonly onProblem: (line: string) => void;
  readonly onDefect: (error: unknown) => void;
}

/** Plays the nodes of a fleet until it is closed. */
export function runFleet(parts: RunFleetParts): HollowFleet {
  const { streams, fleet, version, env, onProblem, onDefect } = parts;
  const log = new ProblemLog({ env, onLine: onProblem, onDefect });
  const hollow = new HollowFleet({
    ...{ streams, env, version, nodes: fleet.nodes },
    onProblem: (node, message) => log.report({ controller: 'node', key: node, message }),
  });
  hollow.start();
  return hollow;
}
