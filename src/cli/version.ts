import type { Command } from 'commander';
import { clientCommand } from './client-command.js';
import { choiceOption } from './option-values.js';
import { packageVersion } from './package-version.js';
import type { ClientOptions } from './session.js';
import { print, say } from './terminal.js';

interface VersionOptions extends ClientOptions {
  readonly output?: 'json';
}

// A server that is slower than this is told of as one that does not answer.
const answerMsMax = 3_000;

export const versionCommand = (): Command =>
  clientCommand('version', 'print the version of berth, of Node, and of the server if one is reached')
    .addOption(choiceOption('-o, --output <format>', 'how to print it', ['json']))
    .action(async (options: VersionOptions) => {
      const versions = { berth: packageVersion(), node: process.versions.node };
      // What is known is said at once; the server may take its time.
      if (options.output !== 'json') print(`berth ${versions.berth} (node ${versions.node})`);
      const server = await versionOfServer(options);
      if (options.output === 'json') print(JSON.stringify({ ...versions, ...server }));
      else if (server !== undefined) print(`server ${server.server}`);
    });

/** Whoever has no server wants no word about it; whoever has one that is silent wants one. */
async function versionOfServer(options: VersionOptions): Promise<{ server: string } | undefined> {
  const [{ findConfig, openSession }, { serverVersion }, { describeError }] = await Promise.all([
    import('./session.js'),
    import('./server-version.js'),
    import('./report-failure.js'),
  ]);
  if (findConfig(options.config) === undefined) return undefined;
  let session: Awaited<ReturnType<typeof openSession>> | undefined;
  try {
    session = await openSession({ timeout: answerMsMax, ...options });
    return { server: (await serverVersion(session.client)).version };
  } catch (error) {
    say(describeError(error, session?.addressed));
    return undefined;
  } finally {
    session?.close();
  }
}
