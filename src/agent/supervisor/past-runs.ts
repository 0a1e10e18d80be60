import type { JournalEntry, PastRun } from './machine.js';

/** What a journal says in the end: the last run of each replica that is not forgotten. */
export function pastRuns(entries: Iterable<JournalEntry>): Map<string, PastRun> {
  const runs = new Map<string, PastRun>();
  for (const entry of entries) {
    if (entry.kind === 'forgotten') runs.delete(entry.uid);
    else runs.set(entry.facts.uid, entry);
  }
  return runs;
}

/** The same as entries: what a journal that is written anew keeps. */
export const keptRuns = (entries: readonly JournalEntry[]): readonly JournalEntry[] => [
  ...pastRuns(entries).values(),
];
