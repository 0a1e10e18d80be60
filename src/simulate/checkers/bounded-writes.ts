import { type LeaseRecord, sameEpoch } from '../../model/records.js';
import type { CellState, Commit } from './checker.js';
import { type LivenessFacts, type LivenessResult, resultOf } from './liveness-facts.js';

/** [L8] Retries stay within a budget: an outage does not multiply transactions. */
export function withinBudget(state: CellState, { windows }: LivenessFacts): LivenessResult {
  const messages = windows
    .filter(({ attempted, budget }) => attempted > budget)
    .map(
      ({ fromMs, toMs, attempted, budget }) =>
        `${attempted} transactions were attempted from ${fromMs} to ${toMs} ms; the budget is ${budget}`,
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
 * renewal had nobody in it, so it shows nothing.
 */
export function goesQuiet(state: CellState, { quietCommits }: LivenessFacts): LivenessResult {
  const messages = quietCommits
    .filter((commit) => !isRenewal(commit))
    .map(
      ({ revision, by, changes }) =>
        `${by} still wrote ${changes.map(({ key }) => key).join(', ')} at revision ${revision}`,
    );
  return resultOf('L9', state, quietCommits.length, messages);
}
