import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { BerthError, readKubeconfig, type ServerAccess } from '../client/client.js';
import { atServers } from '../client/server-list.js';
import { countOf, serversOf } from './option-values.js';
import { type LogFlags, withLogOptions } from './log-options.js';
import { packageVersion } from './package-version.js';
import { runUntilStopped } from './run-until-stopped.js';
import { findConfig } from './session.js';

interface HollowFlags extends LogFlags {
  readonly config?: string;
  readonly context?: string;
  readonly server?: readonly string[];
  readonly ca?: string;
  readonly tokenFile?: string;
  readonly count?: number;
  readonly fleet?: string;
}

export const hollowCommand = (): Command =>
  withLogOptions(new Command('hollow'))
    .description('play nodes that run nothing, for a server elsewhere')
    .option('--count <count>', 'so many nodes that are alike', countOf)
    .option('--fleet <file>', 'the nodes of a fleet file')
    .option(
      '--server <urls>',
      'the servers of the cell, if not those of the kubeconfig: URL[,URL…]',
      serversOf,
    )
    .option('--ca <file>', "the CA of the server's certificate, PEM")
    .option('--token-file <file>', 'a token for hollow:PREFIX, with which the nodes speak')
    .option('--config <file>', 'the kubeconfig that names the server (BERTH_CONFIG, KUBECONFIG)')
    .option('--context <name>', 'which of its contexts, if not the current one')
    .action((flags: HollowFlags) =>
      runUntilStopped(flags, async (surroundings) => {
        const operator = await operatorAccess(flags);
        const { hollow } = await import('../main/hollow.js');
        const playing = await hollow({
          ...surroundings,
          ...{ operator, access: nodeAccess(operator, flags), version: packageVersion() },
          ...(flags.count !== undefined && { hollow: flags.count }),
          ...(flags.fleet !== undefined && { fleet: flags.fleet }),
        });
        return { ready: `ready: plays ${playing.nodes} nodes`, close: () => playing.close() };
      }),
    );

/** As whom the person who started it speaks, who may make regions that are missing. */
async function operatorAccess({
  config,
  context,
  server,
  ca,
  tokenFile,
}: HollowFlags): Promise<ServerAccess> {
  const path = findConfig(config);
  if (path === undefined && server === undefined)
    throw new BerthError(
      'InvalidKubeconfig',
      'no server is named: give --server, or --config, or set BERTH_CONFIG',
    );
  const nobody = {
    url: '',
    ca: undefined,
    cert: undefined,
    key: undefined,
    token: undefined,
    namespace: 'default',
  };
  const known = path === undefined ? nobody : await readKubeconfig({ path, context });
  const access = {
    ...(server === undefined ? known : atServers(known, server)),
    ...(ca !== undefined && { ca: contentsOf(ca, '--ca') }),
  };
  return path === undefined ? nodeAccess(access, { ...(tokenFile !== undefined && { tokenFile }) }) : access;
}

const nodeAccess = (access: ServerAccess, { tokenFile }: Pick<HollowFlags, 'tokenFile'>): ServerAccess =>
  tokenFile === undefined
    ? access
    : { ...access, cert: undefined, key: undefined, token: contentsOf(tokenFile, '--token-file').trim() };

function contentsOf(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BerthError('InvalidKubeconfig', `${option} ${file}: ${(cause as Error).message}`, { cause });
  }
}
