import type { Cure, PlacementFacts } from '../../model/explanation.js';
import { builtinPolicy } from '../../model/policy.js';
import type { CellState } from '../cell-state.js';
import type { PendingReplica } from '../contract.js';
import { propose, type ProposeOptions } from '../propose.js';
import { RankCache } from '../rank-cache.js';
import type { VerdictOptions } from '../verdicts.js';
import { asIfCured } from './cures/cure-records.js';
import { placementFacts } from './placement-facts.js';
import type { Stretch } from './stretch.js';

export interface GangQuestion {
  /** Members that wait, as if each were in no gang. */
  readonly members: readonly PendingReplica[];
  /** So many of them have to find places together. */
  readonly wanted: number;
  /** The node that the slot of a member is for, if it is. */
  readonly nodeOfSlot: (member: PendingReplica) => string | undefined;
}

// So many are placed before others get a turn: some milliseconds.
const membersPerTurn = 64;

/**
 * What the rules say of the members of a gang together. Where not enough find places: of the first without one, with the
 * others where they would be. The cell is left as it was. Undefined if its class is gone.
 */
export async function gangFacts(
  stretch: Pick<Stretch, 'next'>,
  cell: CellState,
  { members, wanted, nodeOfSlot }: GangQuestion,
  options: VerdictOptions,
): Promise<PlacementFacts | undefined> {
  const proposing: ProposeOptions = { ...options, policy: builtinPolicy, seed: 0, ranks: new RankCache() };
  const placed: PendingReplica[] = [];
  let without: PendingReplica | undefined;
  for (const classKey of new Set(members.map((member) => member.classKey))) {
    const ofClass = members.filter((member) => member.classKey === classKey);
    for (let at = 0; at < ofClass.length && placed.length < wanted; at += membersPerTurn) {
      const replicas = ofClass.slice(at, at + Math.min(membersPerTurn, wanted - placed.length));
      const { placements, waits } = propose(cell, { classKey, replicas }, proposing);
      placed.push(...placements.map(({ replica }) => replica));
      without ??= waits[0]?.replica;
      if (waits.length > 0) break;
      await stretch.next();
    }
  }
  const undo = (): void => {
    for (const replica of placed) cell.unassume(replica);
  };
  const together = { places: placed.length, wanted };
  const isPlaceable = placed.length >= wanted;
  if (isPlaceable) undo();
  const next = (isPlaceable ? undefined : without) ?? members[0];
  if (next === undefined) return undefined;
  const { classKey } = next;
  const onlyNode = nodeOfSlot(next);
  const facts = await placementFacts(cell, classKey, next.name, {
    ...options,
    stretch,
    ...(onlyNode !== undefined && { onlyNode }),
  });
  const isPlaced = new Set(placed.map(({ uid }) => uid));
  const left = members.filter((member) => member.classKey === classKey && !isPlaced.has(member.uid));
  const missing = left.slice(0, wanted - placed.length);
  /** A change lets the next one run; it is told only where all that are missing would. */
  const startsThem = (cure: Cure): boolean =>
    asIfCured(cell, classKey, cure, () => {
      const { placements } = propose(
        cell,
        { classKey, replicas: missing },
        { ...proposing, ranks: new RankCache() },
      );
      for (const { replica } of placements) cell.unassume(replica);
      return placed.length + placements.length >= wanted;
    });
  const isWorthTrying = !isPlaceable && wanted - placed.length <= membersPerTurn;
  const cures: Cure[] = [];
  for (const cure of isWorthTrying ? (facts?.cures ?? []) : []) {
    await stretch.next();
    if (startsThem(cure)) cures.push(cure);
  }
  if (!isPlaceable) undo();
  return facts && { ...facts, isPlaceable, together, cures };
}
