import type { PreemptionResult } from './preemption.js';
import type { TurnResult } from './contract.js';

/** A turn after it was asked who could make room for those that no node takes: its decision says what came of that. */
export function withRoomMade(
  turn: TurnResult,
  { plans, later }: Pick<PreemptionResult, 'plans' | 'later'>,
): TurnResult {
  if (plans.length + later.length === 0) return turn;
  const others = new Set([...plans.map(({ replica }) => replica.uid), ...later.map(({ uid }) => uid)]);
  const waits = turn.waits.filter(({ replica }) => !others.has(replica.uid));
  const { reason: before, ...draft } = turn.decision;
  // Who goes on in the next turn found no place in this one, for the reason that all had.
  const reason = waits[0]?.reason ?? (later.length > 0 ? before : undefined);
  const placed = turn.placements.length + plans.length;
  const result = waits.length + later.length === 0 ? 'Placed' : placed === 0 ? 'NotPlaced' : 'Partly';
  const decision = { ...draft, result, ...(reason !== undefined && { reason }) } as const;
  return { ...turn, plans, later, waits, decision };
}
