import type { ClassKey, PendingReplica, Placement, PreemptionPlan, TurnResult } from './contract.js';
import type { GangPlan } from './gangs.js';
import type { PreemptionResult } from './preemption.js';

/** The parts that find places on one picture of the cell; each counts what the ones before it took. */
export interface GangPlacers {
  /** Places for as many as fit as the cell is, and why the others have none. */
  place(classKey: ClassKey, replicas: readonly PendingReplica[]): Pick<TurnResult, 'placements' | 'waits'>;
  /** Places for as many as others can make room for. */
  preempt(classKey: ClassKey, replicas: readonly PendingReplica[]): PreemptionResult;
  /** Takes back what was counted for one. */
  undo(replica: PendingReplica): void;
}

/**
 * Places for at least so many members of a gang, or for none: then nothing stays counted. Members beyond the least get
 * a place where one is free, but nobody is asked to leave for them.
 */
export function gangPlaces(
  replicas: readonly PendingReplica[],
  atLeast: number,
  placers: GangPlacers,
): GangPlan {
  const places: (Placement | PreemptionPlan)[] = [];
  const classKeys = new Set(replicas.map(({ classKey }) => classKey));
  const ofClass = (key: ClassKey): PendingReplica[] => replicas.filter(({ classKey }) => classKey === key);
  let wait: TurnResult['waits'][number] | undefined;
  let isReady = true;
  for (const key of classKeys) {
    const { placements, waits } = placers.place(key, ofClass(key));
    places.push(...placements);
    wait ??= waits[0];
  }
  for (const key of classKeys) {
    const missing = atLeast - places.length;
    if (missing <= 0) break;
    const placed = new Set(places.map(({ replica }) => replica.uid));
    const left = ofClass(key).filter(({ uid }) => !placed.has(uid));
    const made = placers.preempt(key, left.slice(0, missing));
    places.push(...made.plans);
    isReady &&= made.isReady;
  }
  if (places.length >= atLeast) return { kind: 'Places', places };
  for (const { replica } of places) placers.undo(replica);
  if (!isReady) return { kind: 'NotReady' };
  const { reason = 'GangIncomplete', message = `${replicas.length} members are left` } = wait ?? {};
  return { kind: 'None', found: places.length, reason, message };
}
