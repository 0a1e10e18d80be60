import type { NodeConnectionParts } from '../client/node-connection.js';
import type { ServerList } from '../client/server-list.js';
import type { Env } from '../env/env.js';
import { boundedLog } from './bounded-log.js';
import type { Log } from './log.js';

/** How the connection of node streams tells where it is and why it is not. */
export function connectionParts(
  servers: ServerList,
  env: Env,
  log: Log,
): Omit<NodeConnectionParts, 'accessTo'> {
  const bounded = boundedLog(log, env);
  return {
    ...{ servers, env },
    onConnected: (server) =>
      bounded({ level: 'info', component: 'connection', message: 'connected', fields: { server } }),
    onProblem: (message, server) =>
      bounded({ level: 'warn', component: 'connection', message, fields: { server } }),
  };
}
