import type { ExitCode } from './exit-codes.js';
import { exitCodes } from './exit-codes.js';

/** Why a command ends, in one line for people, and what the shell is told. */
export class CommandFailure extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'CommandFailure';
  }
}

/** The command line asks for something that does not exist or makes no sense. */
export const usageFailure = (message: string): CommandFailure => new CommandFailure(exitCodes.usage, message);
