import { isBerthError } from '../client/client.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { describeError, exitCodeOf } from './report-failure.js';
import { painted, say } from './terminal.js';

/** The failures of a command that goes on with the next object: each is told at once, the exit code at the end. */
export class Failures {
  readonly #codes = new Set<ExitCode>();

  /** Where nothing can be reached there is no next object: that is thrown again. */
  add(about: string, error: unknown): void {
    if (isBerthError(error, 'ServerUnreachable')) throw error;
    this.tell(`${about}: ${describeError(error)}`, exitCodeOf(error));
  }

  tell(message: string, code: ExitCode = exitCodes.error): void {
    say(`${painted('red', 'error:', process.stderr)} ${message}`);
    this.#codes.add(code);
  }

  get isEmpty(): boolean {
    return this.#codes.size === 0;
  }

  /** The one code that all failures have; where they differ, that of an error. */
  get exitCode(): ExitCode {
    const [code = exitCodes.done, ...others] = this.#codes;
    return others.length === 0 ? code : exitCodes.error;
  }
}
