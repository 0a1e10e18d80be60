import { type LeaseEnd, type LeaseRecord, nobody } from '../model/records.js';

/** The end of the term before, for the next term of a lease: the release, or that the next holder passed the last one over. */
export function endedTerm(
  before: LeaseRecord | undefined,
  by: Pick<LeaseEnd, 'endedBy' | 'endedAt' | 'reason'>,
): Pick<LeaseRecord, 'lastTerm'> {
  if (before === undefined) return {};
  const { holder, epoch, lastTerm } = before;
  if (holder !== nobody) return { lastTerm: { holder, epoch, ...by } };
  // A version before this one released it, and did not say who.
  return lastTerm === undefined ? {} : { lastTerm };
}
