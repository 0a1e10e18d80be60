#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { exitCodes } from './exit-codes.js';
import { upCommand } from './up.js';
import { packageVersion, versionCommand } from './version.js';

/** The `berth` command. Each command is a file of its own; this one only puts them together. */
const program = new Command('berth')
  .description('A distributed scheduler and control plane that explains itself.')
  .version(packageVersion(), '-V, --version', 'print the version')
  .helpCommand(false)
  .showHelpAfterError('(berth --help lists the commands)')
  .exitOverride();

const help = new Command('help')
  .description('show help, of one command if it is named')
  .argument('[command]')
  .action((name?: string) => {
    const named = name === undefined ? program : program.commands.find((command) => command.name() === name);
    if (named === undefined) return program.error(`error: unknown command '${name}'`);
    return named.help();
  });

// Whoever reads our output may leave before the end of it; that is their right, not our failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE')
    process.stderr.write(`error: cannot write to standard output: ${error.message}\n`);
  process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.error);
});

for (const command of [upCommand(), versionCommand(), help])
  program.addCommand(command.copyInheritedSettings(program));

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has said what is wrong; help and version are no errors.
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
}
