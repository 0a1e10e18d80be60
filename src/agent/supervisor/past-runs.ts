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

/** Whether a line of a journal says something of a run, as this version or an earlier one writes it. */
export function isRunEntry(line: unknown): line is JournalEntry {
  if (!isFields(line)) return false;
  const { kind, uid, facts, identity, end }: Readonly<Record<string, unknown>> = line;
  if (kind === 'forgotten') return typeof uid === 'string';
  if (!isFields(facts) || typeof facts['uid'] !== 'string' || typeof facts['execution'] !== 'number')
    return false;
  if (kind === 'ended') return isFields(end) && typeof end['reason'] === 'string';
  return kind === 'opened' && isFields(identity) && typeof identity['pid'] === 'number';
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
