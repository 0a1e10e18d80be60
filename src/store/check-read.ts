import { BerthError } from '../model/errors.js';
import { readEntriesMax, type ReadOptions, type Revision } from './contract.js';

/** The number of entries a read may return. */
export function readLimit(options: ReadOptions | undefined): number {
  const limit = options?.limit ?? readEntriesMax;
  if (!Number.isInteger(limit) || limit < 1) {
    throw new RangeError(`read limit ${limit}: allowed is a whole number from 1`);
  }
  return Math.min(limit, readEntriesMax);
}

export function expired(revision: number, compacted?: Revision): BerthError {
  const until = compacted === undefined ? '' : `; history begins at ${compacted}`;
  return new BerthError('Expired', `revision ${revision} has been compacted${until}`);
}

export function futureRevision(revision: Revision, current?: Revision): BerthError {
  const now = current === undefined ? '' : `; the store is at ${current}`;
  return new BerthError('FutureRevision', `revision ${revision} has not happened yet${now}`);
}
