import { probeDefaults } from '../../model/parts/probe.js';
import type { Template } from '../../model/parts/template.js';

export type Probe = NonNullable<Template['readiness']>;

/** Whether a question was answered well. */
export interface ProbeAnswer {
  readonly isPassing: boolean;
  /** What was wrong. */
  readonly message: string;
}

/** How many answers of one sort have come in a row, and what they count as so far. */
export interface Streak {
  readonly verdict: 'Unknown' | 'Passing' | 'Failing';
  readonly passed: number;
  readonly failed: number;
}

export const noStreak: Streak = { verdict: 'Unknown', passed: 0, failed: 0 };

export const thresholdsOf = (probe: Probe) => ({ ...probeDefaults, ...probe });

/** The streak after one more answer. A verdict stands until enough answers in a row say otherwise. */
export function afterAnswer(
  { verdict, passed, failed }: Streak,
  isPassing: boolean,
  { successThreshold, failureThreshold }: { successThreshold: number; failureThreshold: number },
): Streak {
  const next = isPassing ? { passed: passed + 1, failed: 0 } : { passed: 0, failed: failed + 1 };
  if (next.passed >= successThreshold) return { ...next, verdict: 'Passing' };
  return { ...next, verdict: next.failed >= failureThreshold ? 'Failing' : verdict };
}
