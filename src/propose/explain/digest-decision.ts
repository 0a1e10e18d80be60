import type { DecisionDigest } from '../../model/explanation.js';
import type { Decision } from '../../model/kinds/decision.js';

const nodesShown = 5;

/** What people want to know of a decision at a glance. */
export function digestOf({ metadata, spec }: Decision): DecisionDigest {
  const answers: Record<string, number> = {};
  const choices = spec.choices ?? [];
  for (const { node, outcome, reason } of choices) {
    const answer =
      outcome === undefined
        ? node === undefined
          ? 'not proposed'
          : 'no answer yet'
        : outcome === 'Rejected' && reason !== undefined
          ? `Rejected ${reason}`
          : outcome;
    answers[answer] = (answers[answer] ?? 0) + 1;
  }
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    workload: spec.workload,
    at: spec.at,
    result: spec.result,
    ...(spec.reason !== undefined && { reason: spec.reason }),
    snapshotRevision: spec.snapshot.revision,
    snapshotAgeMs: spec.snapshot.ageMs,
    answers,
    nodes: [...new Set(choices.flatMap(({ node }) => node ?? []))].slice(0, nodesShown),
  };
}
