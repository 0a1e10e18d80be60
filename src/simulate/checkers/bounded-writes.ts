import { type LeaseRecord, sameEpoch } from '../../model/records.js';
import { changedFields } from './changed-fields.js';
import type { CellState, Commit } from './checker.js';
import { shownMs } from './shown-ms.js';
import { type LivenessFacts, type LivenessResult, resultOf } from './liveness-facts.js';

/** [L8] Retries stay within a budget: an outage does not multiply transactions. */
export function withinBudget(state: CellState, { windows }: LivenessFacts): LivenessResult {
  const messages = windows
    .filter(({ attempted, budget }) => attempted > budget)
    .map(
      ({ fromMs, toMs, attempted, budget }) =>
        `${attempted} transactions were attempted from ${shownMs(fromMs)} to ${shownMs(toMs)}; the budget is ${budget}`,
    );
  return resultOf('L8', state, windows.length, messages);
}

function isRenewal({ changes }: Commit): boolean {
  return changes.every(({ key, before, after }) => {
    if (!key.startsWith('/l/') || before === undefined || after === undefined) return false;
    const [was, is] = [before as LeaseRecord, after as LeaseRecord];
    return was.holder === is.holder && sameEpoch(was.epoch, is.epoch);
  });
}

/**
 * [L9] Under constant inputs the cell goes quiet: nothing but renewals is committed. A window without even a
 * renewal had nobody in it, so it shows nothing. What is written again and again is said once.
 */
export function goesQuiet(state: CellState, { quietCommits, actsAt }: LivenessFacts): LivenessResult {
  const revisions = new Map<string, number[]>();
  for (const commit of quietCommits) {
    if (isRenewal(commit)) continue;
    const what = shownWrite(commit, actsAt(commit.revision));
    const before = revisions.get(what);
    if (before === undefined) revisions.set(what, [commit.revision]);
    else before.push(commit.revision);
  }
  const messages = [...revisions].map(([what, [first, ...more]]) =>
    more.length === 0
      ? `${what} at revision ${first}`
      : `${what} ${more.length + 1} times, from revision ${first} to ${more.at(-1)}`,
  );
  return resultOf('L9', state, quietCommits.length, messages);
}

/** The operations with their actors and reasons, the keys and the fields. A write of objects names only its process. */
function shownWrite({ by, changes }: Commit, acts: readonly string[]): string {
  const who = acts.length === 0 ? `a write of objects by ${by}` : `${acts.join('; ')}, at ${by},`;
  const keys = changes.map(({ key, before, after }) => `${key} (${changedFields(before, after)})`);
  return `${who} still wrote ${keys.join(', ')}`;
}
