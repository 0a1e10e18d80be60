import { Command, CommanderError } from 'commander';
import { commandNamed, commands, hasCommand } from './commands.js';
import { exitCodes } from './exit-codes.js';
import { packageVersion } from './package-version.js';

/** Runs one command line and sets the exit code. Each command is a file of its own, loaded when it is asked for. */
export async function runProgram(given: readonly string[]): Promise<void> {
  const words = commandFirst(given);
  try {
    const program = await programFor(words[0]);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has said what is wrong; help and version are no errors.
      process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
      return;
    }
    const { reportFailure } = await import('./report-failure.js');
    reportFailure(error);
  }
}

/** The program with the command that is asked for, or with all commands where help or a suggestion may be needed. */
async function programFor(name: string | undefined): Promise<Command> {
  const program = new Command('berth').helpCommand(false).exitOverride();
  program.showHelpAfterError('(berth --help lists the commands)');
  const asked = name === undefined ? undefined : await commandNamed(name);
  if (asked !== undefined) {
    program.addCommand(asked.copyInheritedSettings(program));
    for (const part of [asked, ...asked.commands]) refuseEmptyValues(part);
    for (const sub of asked.commands) sub.copyInheritedSettings(program);
    return program;
  }
  program
    .description('A distributed scheduler and control plane that explains itself.')
    .version(packageVersion(), '-V, --version', 'print the version');
  for (const { name: each, description, isHidden = false } of commands) {
    const command = new Command(each).description(description);
    program.addCommand(command.copyInheritedSettings(program), { hidden: isHidden });
  }
  const help = new Command('help')
    .description('show help, of one command if it is named')
    .argument('[command]')
    .action((about?: string) =>
      about === undefined ? program.help() : program.error(`error: unknown command '${about}'`),
    );
  program.addCommand(help.copyInheritedSettings(program));
  return program;
}

/** An empty value is a variable of a script that is not set, never a wish: it must not stand for another kubeconfig or for all objects. */
function refuseEmptyValues(command: Command): void {
  for (const option of command.options)
    if (option.required || option.optional)
      command.on(`option:${option.name()}`, (value: unknown) => {
        if (value === '') command.error(`error: option '${option.flags}' has an empty value`);
      });
}

/** Moves the command to the front of the words: `berth -n fraud get wl` means `berth get -n fraud wl`, and `berth help get` `berth get --help`. */
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
  // A command with parts takes no options itself: its part does.
  return ['auth', 'config', 'fence', 'token'].includes(command) && !about.startsWith('-')
    ? [command, ...after.slice(0, 1), ...moved, ...after.slice(1)]
    : [command, ...moved, ...after];
}
