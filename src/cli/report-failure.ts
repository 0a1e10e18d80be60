import { type ErrorCode, isBerthError } from '../model/errors.js';
import { CommandFailure } from './command-failure.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { painted, say } from './terminal.js';

/** Which server was meant, and who said so. */
export interface Addressed {
  readonly url: string;
  readonly configPath: string;
}

const codesOfErrors: Partial<Record<ErrorCode, ExitCode>> = {
  ServerUnreachable: exitCodes.unreachable,
  NodeNotConnected: exitCodes.unreachable,
  Unauthorized: exitCodes.notAllowed,
  Forbidden: exitCodes.notAllowed,
  UnknownOutcome: exitCodes.timedOut,
  InvalidKubeconfig: exitCodes.usage,
  InvalidDuration: exitCodes.usage,
};

/** What the shell is told of an error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode;
  return isBerthError(error) ? (codesOfErrors[error.code] ?? exitCodes.error) : exitCodes.error;
}

/** An error in one line, or in one line per field where an object breaks several rules. */
export function describeError(error: unknown, addressed?: Addressed): string {
  if (isBerthError(error, 'ServerUnreachable') && addressed !== undefined) {
    const reason = (error.cause instanceof Error ? deepest(error.cause) : error).message;
    return `no server answers at ${addressed.url} (from ${addressed.configPath}): ${reason}; start one with: berth up`;
  }
  if (error instanceof Error) return error.message;
  return String(error);
}

/** Says what went wrong and sets the exit code. Never shows a stack: what is no error of ours is named a defect. */
export function reportFailure(error: unknown, addressed?: Addressed): ExitCode {
  const isExpected =
    error instanceof CommandFailure ||
    isBerthError(error) ||
    (error as NodeJS.ErrnoException).code !== undefined;
  const word = painted('red', isExpected ? 'error:' : 'defect:', process.stderr);
  say(`${word} ${describeError(error, addressed)}`);
  const code = exitCodeOf(error);
  process.exitCode = code;
  return code;
}

/** The error that everything began with: the outer ones only say how often it was tried. */
function deepest(error: Error): Error {
  return error.cause instanceof Error ? deepest(error.cause) : error;
}
