import { errorTable, isBerthError } from '../model/errors.js';
import type { Outcome } from '../model/ports.js';

/**
 * What an error says of the operation it came back for. Where the error table says that nothing was done, that is an
 * answer, and sending the same again would get the same; only else the outcome is not known.
 */
export function outcomeOfError(error: unknown, revision: string): Outcome<never> {
  return isBerthError(error) && errorTable[error.code].callerMay !== 'readBack'
    ? { kind: 'Rejected', reason: 'NotTaken', message: `${error.code}: ${error.message}`, revision }
    : { kind: 'UnknownOutcome', message: String(error) };
}
