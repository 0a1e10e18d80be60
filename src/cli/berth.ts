#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { commandNamed, commands, hasCommand } from './commands.js';
import { exitCodes } from './exit-codes.js';
import { packageVersion } from './package-version.js';

/** The `berth` command. Each command is a file of its own, loaded when it is asked for; this one puts them together. */
const program = new Command('berth')
  .description('A distributed scheduler and control plane that explains itself.')
  .version(packageVersion(), '-V, --version', 'print the version')
  .helpCommand(false)
  .showHelpAfterError('(berth --help lists the commands)')
  .exitOverride();

const help = new Command('help')
  .description('show help, of one command if it is named')
  .argument('[command]')
  .action((name?: string) =>
    name === undefined ? program.help() : program.error(`error: unknown command '${name}'`),
  );

// Whoever reads our output may leave before the end of it; that is their right, not our failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE')
    process.stderr.write(`error: cannot write to standard output: ${error.message}\n`);
  process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.error);
});

const words = commandFirst(process.argv.slice(2));
const asked = words[0] === undefined ? undefined : await commandNamed(words[0]);
for (const { name, description, isHidden = false } of commands) {
  const command = asked?.name() === name ? asked : new Command(name).description(description);
  program.addCommand(command.copyInheritedSettings(program), { hidden: isHidden });
  for (const sub of command.commands) sub.copyInheritedSettings(program);
}
program.addCommand(help.copyInheritedSettings(program));

try {
  await program.parseAsync(words, { from: 'user' });
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has said what is wrong; help and version are no errors.
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
}

/** What was typed, with the command first: `berth -n fraud get wl` means `berth get -n fraud wl`, and `berth help get` `berth get --help`. */
function commandFirst(given: readonly string[]): string[] {
  const moved: string[] = [];
  const rest = [...given];
  for (;;) {
    const [word = ''] = rest;
    const isWhole = /^(-n.+|--(namespace|config|context|server|timeout)=.*)$/s.test(word);
    const isPair = /^(-n|--(namespace|config|context|server|timeout))$/.test(word) && rest.length > 1;
    if (!isWhole && !isPair) break;
    moved.push(...rest.splice(0, isWhole ? 1 : 2));
  }
  const [command, ...after] = rest;
  const [about = ''] = after;
  if (command === 'help' && hasCommand(about)) return [about, '--help'];
  if (command === undefined) return moved;
  // Of a command with parts, it is the part that takes options.
  return ['auth', 'token'].includes(command) && !about.startsWith('-')
    ? [command, ...after.slice(0, 1), ...moved, ...after.slice(1)]
    : [command, ...moved, ...after];
}
