import type { NewDecision } from '../model/decisions.js';
import type { DecisionDraft } from './contract.js';
import { OpenDecision } from './open-decision.js';

/** Opens decisions that go to a list when they are kept. */
export const keptIn =
  (kept: NewDecision[]) =>
  (tenant: string, draft: DecisionDraft): OpenDecision => {
    let names = 0;
    const sink = {
      newName: () => `decision-${kept.length}-${(names += 1)}`,
      append: (one: NewDecision) => void kept.push(one),
    };
    const decider = { name: 's', server: 'here', epoch: { cell: 1, number: 1 } };
    return new OpenDecision(sink, { tenant, draft, decider, at: '2026-01-01T00:00:00Z' });
  };
