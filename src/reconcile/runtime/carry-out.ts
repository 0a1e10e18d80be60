import type { Outcome } from '../../model/ports.js';
import type { Acting } from './acting.js';
import { done, type Requeue } from './requeue.js';
import { requeueOf, type Verdict, verdictOf, whyNot, worstOf } from './verdict.js';

// So many operations of one reconcile are under way at once: the authority batches what comes together.
const atOnce = 16;

/**
 * Sends operations that do not depend on one another, in order, some at once. Stops after those under way when the
 * signal aborts or the epoch is over. What is refused for good is reported; the rest is for the next look.
 */
export async function carryOut(
  acting: Acting,
  controller: string,
  key: string,
  operations: readonly (() => Promise<Outcome<unknown>>)[],
  signal: AbortSignal,
): Promise<Requeue> {
  const verdicts: Verdict[] = [];
  let why = '';
  for (let from = 0; from < operations.length && !signal.aborted; from += atOnce) {
    const outcomes = await Promise.all(operations.slice(from, from + atOnce).map((send) => send()));
    for (const outcome of outcomes) {
      const verdict = verdictOf(outcome);
      verdicts.push(verdict);
      if (verdict === 'Done') continue;
      const message = whyNot(outcome) ?? '';
      if (verdict === 'Retry') why ||= message;
      if (verdict === 'Refused') acting.report({ controller, key, message });
      if (verdict === 'Stale') acting.giveUp(message);
    }
    if (verdicts.includes('Stale')) return done;
  }
  return requeueOf(worstOf(verdicts), why);
}
