import { readEntriesMax, type ReadOptions } from './contract.js';

/** Refuses options that make no sense; returns the number of entries the read may return. */
export function readLimit(options: ReadOptions | undefined): number {
  const limit = options?.limit ?? readEntriesMax;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new RangeError(`read limit ${limit}: allowed is a whole number from 1`);
  }
  const revision = options?.revision;
  if (revision !== undefined && !(Number.isSafeInteger(revision) && revision > 0)) {
    throw new RangeError(`read revision ${revision}: allowed is a whole number from 1`);
  }
  return Math.min(limit, readEntriesMax);
}
