import { BerthError } from '../model/errors.js';
import type { Revision } from './contract.js';

export function expired(revision: number, compacted?: number): BerthError {
  const until = compacted === undefined ? '' : `; history begins at ${compacted}`;
  return new BerthError('Expired', `revision ${revision} has been compacted${until}`, {
    ...(compacted !== undefined && { details: { historyBeginsAt: compacted } }),
  });
}

export function futureRevision(revision: Revision, current?: Revision): BerthError {
  const now = current === undefined ? '' : `; the store is at ${current}`;
  return new BerthError('FutureRevision', `revision ${revision} has not happened yet${now}`);
}

export const storeClosed = (): BerthError => new BerthError('StoreClosed', 'the store was closed');
