import type { Outcome } from '../../model/ports.js';
import type { Acting } from './acting.js';
import { done, type Requeue } from './requeue.js';
import { requeueOf, type Verdict, verdictOf, whyNot, worstOf } from './verdict.js';

// So many operations of one reconcile are under way at once: the authority batches what comes together, and half of
// them come while it works on the others. It decides without a break what comes at once: more would keep others waiting.
// With 64 the schedulers' turns were small, and a mass start a tenth slower; with 128 more is made than they keep up with,
// and each waits for seconds instead of some forty milliseconds.
const atOnceMax = 96;

/**
 * Sends operations that do not depend on one another, in order, many at once. Stops after those under way when the
 * signal aborts or the epoch is over. What is refused for good is reported; the rest is for the next look.
 */
export async function carryOut(
  acting: Acting,
  controller: string,
  key: string,
  operations: readonly (() => Promise<Outcome<unknown>>)[],
  signal: AbortSignal,
): Promise<Requeue> {
  const verdicts = new Set<Verdict>();
  let why = '';
  const judge = (outcome: Outcome<unknown>): void => {
    const verdict = verdictOf(outcome);
    verdicts.add(verdict);
    if (verdict === 'Done') return;
    const message = whyNot(outcome) ?? '';
    if (verdict === 'Retry') why ||= message;
    if (verdict === 'Refused') acting.report({ controller, key, message });
    if (verdict === 'Stale') acting.giveUp(message);
  };
  let next = 0;
  const mayGoOn = (): boolean => next < operations.length && !signal.aborted && !verdicts.has('Stale');
  const sendPart = async (): Promise<void> => {
    while (mayGoOn()) {
      const part = operations.slice(next, (next += atOnceMax / 2));
      for (const outcome of await Promise.all(part.map((send) => send()))) judge(outcome);
      // Answers come one upon the other: others would not get a turn between them.
      if (mayGoOn()) await acting.env.yield();
    }
  };
  await Promise.all([sendPart(), sendPart()]);
  if (verdicts.has('Stale')) return done;
  return requeueOf(worstOf(verdicts), why);
}
