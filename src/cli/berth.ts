#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { exitCodes } from './exit-codes.js';
import { packageVersion, versionCommand } from './version.js';

/** The `berth` command. Each command is a file of its own; this one only puts them together. */
const program = new Command('berth')
  .description('A distributed scheduler and control plane that explains itself.')
  .version(packageVersion(), '-V, --version', 'print the version')
  .helpCommand('help [command]', 'show help for a command')
  .showHelpAfterError('(berth --help lists the commands)')
  .exitOverride();

for (const command of [versionCommand()]) program.addCommand(command.copyInheritedSettings(program));

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has said what is wrong; help and version are no errors.
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
}
