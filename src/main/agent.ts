import { readFileSync } from 'node:fs';
import { NodeConnection } from '../client/node-connection.js';
import { ServerList } from '../client/server-list.js';
import type { Env } from '../env/env.js';
import { type AgentConfigSpec, readAgentConfig } from '../agent/machine/agent-config.js';
import { BerthError } from '../model/errors.js';
import { AgentIdentity, nameKeptIn } from './agent-identity.js';
import { connectionParts } from './connection-parts.js';
import { hostNodeName } from './host-node-name.js';
import { callbacksFor, type Log } from './log.js';
import { parseListenAddress } from './listen-address.js';
import { nowAndThen } from './now-and-then.js';
import { runAgent } from './run-agent.js';
import { userOfTenants } from './user-of-tenants.js';

export interface AgentOptions {
  readonly servers: readonly string[];
  readonly tokenFile: string | undefined;
  /** PEM. */
  readonly ca: string | undefined;
  readonly dir: string;
  /** The name that the machine joined by, or its host name, if left out. */
  readonly name: string | undefined;
  readonly region: string | undefined;
  readonly zone: string | undefined;
  readonly config: string | undefined;
  /** Where what runs on this machine is reached, if it is not to be found out. */
  readonly address: string | undefined;
  readonly endsJobs: boolean;
  readonly allowsSharedUser: boolean;
  readonly version: string;
  readonly env: Env;
  readonly log: Log;
}

const renewalLookMs = 600_000;
const metricsUsual = '127.0.0.1:7480';

/** The agent of this machine, for servers elsewhere. */
export async function agent(
  options: AgentOptions,
): Promise<{ readonly node: string; readonly server: string; close(): Promise<void> }> {
  const { dir, env, log, version } = options;
  const { onProblem, onDefect } = callbacksFor(log, 'agent');
  const servers = new ServerList(options.servers);
  const config = configFrom(options.config);
  const node = options.name ?? nameKeptIn(dir) ?? hostNodeName();
  const identity = await AgentIdentity.open({
    ...{ ...options, servers, node, onProblem },
    address: options.address ?? config.address,
  });
  const { address, place } = identity;
  const { region, zone } = place;
  log({
    ...{ level: 'info', component: 'agent', object: node, message: 'starts as a node' },
    fields: { region, zone, address, dir, version },
  });
  const connection = NodeConnection.start({
    ...connectionParts(servers, env, log),
    accessTo: (url) => identity.accessTo(url),
  });
  const stop = new AbortController();
  const renewing = nowAndThen({ env, signal: stop.signal, onDefect }, renewalLookMs, async () => {
    await identity
      .renewIfDue()
      .catch((error: unknown) => onProblem(`cannot renew its certificate: ${String(error)}`));
  });
  const running = await runAgent({
    ...{ streams: connection, dial: connection, dir, version, env, log, place },
    config: { ...config, address },
    users: userOfTenants(config),
    allowsSharedUser: options.allowsSharedUser,
    metrics: parseListenAddress(config.metrics ?? metricsUsual),
  }).catch(async (error: unknown) => {
    stop.abort();
    await connection.close();
    throw error;
  });
  await running.heard;
  return {
    node,
    server: servers.current,
    close: async () => {
      stop.abort();
      await running.close(options.endsJobs ? 'EndJobs' : 'KeepJobs');
      await Promise.all([connection.close(), renewing]);
    },
  };
}

function configFrom(file: string | undefined): AgentConfigSpec {
  if (file === undefined) return {};
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BerthError('InvalidAgentConfig', `${file}: ${(cause as Error).message}`, { cause });
  }
  return readAgentConfig(text, file);
}
