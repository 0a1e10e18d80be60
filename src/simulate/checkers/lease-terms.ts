import { isDeepStrictEqual } from 'node:util';
import { type LeaseEnd, type LeaseRecord, nobody, sameEpoch, shownEpoch } from '../../model/records.js';

/**
 * Violations of one change of a lease. Each epoch is one term of one holder; only that holder releases the lease, and
 * the record names the term that ended last, and who ended it.
 */
export function wrongTerm(key: string, before: LeaseRecord, after: LeaseRecord): readonly string[] {
  return sameEpoch(before.epoch, after.epoch) ? withinTerm(key, before, after) : nextTerm(key, before, after);
}

function withinTerm(key: string, before: LeaseRecord, after: LeaseRecord): readonly string[] {
  const under = shownEpoch(after.epoch);
  if (before.holder === nobody) return [`${key} was written under ${under} after it was released`];
  if (after.holder === nobody) {
    const { holder, epoch } = before;
    return named(key, after.lastTerm, { holder, epoch, endedBy: holder });
  }
  if (after.holder !== before.holder)
    return [`${key} went from ${before.holder} to ${after.holder} under one epoch, ${under}`];
  return isDeepStrictEqual(before.lastTerm, after.lastTerm)
    ? []
    : [`${key}: the term before ${under} was changed`];
}

function nextTerm(key: string, before: LeaseRecord, after: LeaseRecord): readonly string[] {
  if (before.holder !== nobody) {
    const { holder, epoch } = before;
    return named(key, after.lastTerm, { holder, epoch, endedBy: after.holder });
  }
  return isDeepStrictEqual(before.lastTerm, after.lastTerm)
    ? []
    : [`${key}: ${after.holder} changed what stood there of the release before ${shownEpoch(after.epoch)}`];
}

type Ended = Pick<LeaseEnd, 'holder' | 'epoch' | 'endedBy'>;

function named(key: string, found: LeaseEnd | undefined, due: Ended): readonly string[] {
  const isSo =
    found !== undefined &&
    found.holder === due.holder &&
    found.endedBy === due.endedBy &&
    sameEpoch(found.epoch, due.epoch);
  const shown = ({ holder, epoch, endedBy }: Ended): string =>
    `term ${shownEpoch(epoch)} of ${holder} ended by ${endedBy}`;
  return isSo ? [] : [`${key} names ${found === undefined ? 'no term' : shown(found)}; it was ${shown(due)}`];
}
