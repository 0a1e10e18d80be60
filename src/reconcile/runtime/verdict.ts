import type { Outcome } from '../../model/ports.js';
import { reasonTable } from '../../model/reasons.js';
import { again, done, type Requeue } from './requeue.js';

/** What an answer of the authority means for the one who asked. Worse ones later. */
const verdicts = ['Done', 'Refused', 'Retry', 'Stale'] as const;
export type Verdict = (typeof verdicts)[number];

/**
 * Refused: no retry would help; a person should know. Retry: look again and decide anew, or, where the outcome is
 * not known, send the same operation again: ids follow from what is asked for, so it is the same id by itself.
 * Stale: the epoch is over; whoever acts under it must stop.
 */
export function verdictOf(outcome: Outcome<unknown>): Verdict {
  switch (outcome.kind) {
    case 'Committed':
    case 'AlreadyCommitted':
      return 'Done';
    case 'UnknownOutcome':
      return 'Retry';
    case 'Rejected':
      if (outcome.reason === 'StaleEpoch') return 'Stale';
      return reasonTable[outcome.reason].callerMay === 'never' ? 'Refused' : 'Retry';
  }
}

export function worstOf(all: Iterable<Verdict>): Verdict {
  let worst = 0;
  for (const verdict of all) worst = Math.max(worst, verdicts.indexOf(verdict));
  return verdicts[worst] ?? 'Done';
}

/** Why an operation was not done, for people; undefined if it was. */
export function whyNot(outcome: Outcome<unknown>): string | undefined {
  if (outcome.kind === 'Rejected') return `${outcome.reason}: ${outcome.message}`;
  return outcome.kind === 'UnknownOutcome' ? `UnknownOutcome: ${outcome.message}` : undefined;
}

/** When to look again. A rejection says that the cache was old: its news wakes the key by itself, mostly sooner. */
export function requeueOf(verdict: Verdict, why: string): Requeue {
  return verdict === 'Retry' ? again(why) : done;
}
