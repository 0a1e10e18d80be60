import { BerthError, errorTable, isBerthError } from '../model/errors.js';

/** The error of a request that had deleted some objects when one was refused: the refusal holds for that one, not for all. */
export function partlyDone(error: unknown, deleted: number, all: number): unknown {
  if (deleted === 0 || !isBerthError(error) || errorTable[error.code].callerMay !== 'backoff') return error;
  const message = `${deleted} of ${all} objects were deleted before this: ${error.message}`;
  return new BerthError('UnknownOutcome', message, { cause: error });
}
