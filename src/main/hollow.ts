import { BerthClient, type ServerAccess } from '../client/client.js';
import { NodeConnection } from '../client/node-connection.js';
import { ServerList } from '../client/server-list.js';
import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import { ensureRegions } from './ensure-regions.js';
import { fleetFrom, type FleetSource } from './fleet-source.js';
import { connectionParts } from './connection-parts.js';
import type { Log } from './log.js';
import { runFleet } from './run-fleet.js';

export interface HollowOptions extends FleetSource {
  /** How the nodes reach the servers: as node:NAME, or hollow:PREFIX. */
  readonly access: ServerAccess;
  /** As whom missing regions are made. */
  readonly operator: ServerAccess;
  readonly version: string;
  readonly env: Env;
  readonly log: Log;
}

const regions = { group: 'berth.dev', version: 'v1', plural: 'regions' };

/** Plays nodes in a process of its own, over one connection to a server of the cell. */
export async function hollow(
  options: HollowOptions,
): Promise<{ readonly nodes: number; close(): Promise<void> }> {
  const { access, operator, env, log } = options;
  const fleet = await fleetFrom(options);
  if (fleet === undefined) throw new BerthError('InvalidFleet', 'give a number of nodes or a fleet file');
  const client = new BerthClient({ access: operator, env });
  try {
    await ensureRegions(
      {
        has: (name) =>
          client.get(regions, name).then(
            () => true,
            (error: unknown) => {
              if (isBerthError(error, 'NotFound')) return false;
              throw error;
            },
          ),
        create: (region) => client.create(regions, region),
      },
      fleet.regions,
    );
  } finally {
    client.close();
  }
  const connection = await NodeConnection.open({
    ...connectionParts(ServerList.of(access), env, log),
    accessTo: (url) => ({ ...access, url }),
  });
  const playing = runFleet({ ...options, streams: connection, fleet });
  return {
    nodes: fleet.nodes.length,
    close: async () => {
      playing.close();
      await connection.close();
    },
  };
}
