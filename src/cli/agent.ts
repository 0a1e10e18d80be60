import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Command, InvalidArgumentError } from 'commander';
import { BerthError } from '../client/client.js';
import { allowSharedUserOption } from './allow-shared-user-option.js';
import { serversOf } from './option-values.js';
import { type LogFlags, withLogOptions } from './log-options.js';
import { packageVersion } from './package-version.js';
import { runUntilStopped } from './run-until-stopped.js';

interface AgentFlags extends LogFlags {
  readonly server: readonly string[];
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly region?: string;
  readonly zone?: string;
  readonly address?: string;
  readonly dir: string;
  readonly name?: string;
  readonly config?: string;
  readonly stopJobs?: true;
  readonly allowSharedUser?: true;
}

const ipOf = (text: string): string => {
  if (isIP(text) === 0) throw new InvalidArgumentError('It is an IP address, such as 10.0.0.7.');
  return text;
};

export const agentCommand = (): Command =>
  withLogOptions(new Command('agent'))
    .description('run the agent of this machine, for a server elsewhere')
    .requiredOption(
      '--server <urls>',
      'the servers of the cell: URL[,URL…]; when one does not answer, the next is tried',
      serversOf,
    )
    .option('--token-file <file>', 'a join token (berth token create --join), the first time')
    .option(
      '--ca <file>',
      "the CA of the servers' certificates, PEM, if the token does not say what it is known by",
    )
    .option('--region <region>', 'where this machine is; must be what the token says')
    .option('--zone <zone>', 'where in the region; must be what the token says')
    .option(
      '--address <address>',
      'where other machines reach what runs here (default: the address from which this machine reaches its servers)',
      ipOf,
    )
    .option('--dir <dir>', 'where its identity, its jobs and their logs are kept', 'berth-agent')
    .option('--name <name>', 'the name of the node; the name of this host if left out')
    .option('--config <file>', 'what the agent is told of this machine: see docs/nodes.md')
    .option(
      '--stop-jobs',
      'end the jobs too when the agent is told to end; without it they go on and are found again',
    )
    .addOption(allowSharedUserOption())
    .action((flags: AgentFlags) =>
      runUntilStopped(flags, async (surroundings) => {
        const { agent } = await import('../main/agent.js');
        const { tokenFile, region, zone, address, dir, name, config, ca } = flags;
        const running = await agent({
          ...surroundings,
          ...{ tokenFile, region, zone, address, dir, name, config, servers: flags.server },
          ca: ca === undefined ? undefined : contentsOf(ca),
          endsJobs: flags.stopJobs === true,
          allowsSharedUser: flags.allowSharedUser === true,
          version: packageVersion(),
        });
        return { ready: `ready: node ${running.node} at ${running.server}`, close: () => running.close() };
      }),
    );

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BerthError('InvalidAgentConfig', `--ca ${file}: ${(cause as Error).message}`, { cause });
  }
}
