import type { DecisionDraft, Turn, TurnResult } from './contract.js';
import type { PreemptionResult } from './preemption.js';

/**
 * A turn after it was asked who could make room for those that no node takes: its decision says what came of that. It is
 * not about those for whom there was no time: they have one of their own when they have had their turn.
 */
export function withRoomMade(
  { replicas }: Turn,
  before: TurnResult,
  { plans, later, refusals }: Pick<PreemptionResult, 'plans' | 'later' | 'refusals'>,
): TurnResult {
  if (plans.length + later.length + refusals.size === 0) return before;
  const postponed = new Set(later.map(({ uid }) => uid));
  const planned = new Set(plans.map(({ replica }) => replica.uid));
  const waits = before.waits
    .filter(({ replica: { uid } }) => !planned.has(uid) && !postponed.has(uid))
    .map((wait) =>
      refusals.size === 0 ? wait : { ...wait, reasons: [...new Set([...wait.reasons, ...refusals])] },
    );
  if (plans.length + later.length === 0) return { ...before, waits };
  const { reason: _, inputs, ...draft } = before.decision;
  const [first] = waits;
  const placed = before.placements.length + plans.length;
  const result = first === undefined ? 'Placed' : placed === 0 ? 'NotPlaced' : 'Partly';
  const decision: DecisionDraft = {
    ...draft,
    result,
    ...(first !== undefined && { reason: first.reason }),
    ...(inputs && { inputs: { ...inputs, replicas: replicas.filter(({ uid }) => !postponed.has(uid)) } }),
  };
  return { ...before, plans, later, waits, decision };
}
