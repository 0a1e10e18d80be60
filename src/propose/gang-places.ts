import assert from 'node:assert';
import type {
  ClassKey,
  DecisionDraft,
  PendingReplica,
  Placement,
  PreemptionPlan,
  Turn,
  TurnResult,
} from './contract.js';
import type { GangPlan } from './gangs.js';
import type { PreemptionResult } from './preemption.js';
import type { ParkReason } from './queue/cures.js';
import { withRoomMade } from './with-room-made.js';

/** The parts that find places on one picture of the cell; each counts what the ones before it took. */
export interface GangPlacers {
  /** Places for as many as fit as the cell is, and why the others have none. */
  place(turn: Turn): TurnResult;
  /** Places for as many as others can make room for, and there is time for. */
  preempt(classKey: ClassKey, replicas: readonly PendingReplica[]): PreemptionResult;
  /** Takes back what was counted for one. */
  undo(replica: PendingReplica): void;
}

/** Others may have a turn; or have to, as the cell must be looked at before it can go on. */
export type GangPause = 'Turn' | 'Look';

interface Part {
  readonly turn: Turn;
  readonly result: TurnResult;
}

/** As many as a turn of the queue has: a decision each, and some milliseconds at the most. */
const membersPerTurn = 256;

/**
 * Places for at least so many members of a gang, or for none: then nothing stays counted. Members beyond the least get
 * a place where one is free, but nobody is asked to leave for them.
 *
 * It yields wherever others may have a turn before it goes on. Meanwhile what it has found so far is counted; who does not
 * go on with it has to end it, and then nothing is.
 */
export function* gangPlaces(
  replicas: readonly PendingReplica[],
  atLeast: number,
  placers: GangPlacers,
): Generator<GangPause, GangPlan> {
  const members = replicas.map(alone);
  const classKeys = new Set(members.map(({ classKey }) => classKey));
  const parts: Part[] = [];
  const plans: PreemptionPlan[] = [];
  const found: (Placement | PreemptionPlan)[] = [];
  let areKept = false;
  try {
    for (const classKey of classKeys) {
      const ofClass = members.filter((member) => member.classKey === classKey);
      for (let at = 0; at < ofClass.length; at += membersPerTurn) {
        const turn = { classKey, replicas: ofClass.slice(at, at + membersPerTurn) };
        const result = placers.place(turn);
        parts.push({ turn, result });
        found.push(...result.placements);
        yield 'Turn';
      }
    }
    const placed = new Set(found.map(({ replica }) => replica.uid));
    let coming = 0;
    const refusals = new Set<ParkReason>();
    for (const classKey of classKeys) {
      const without = members.filter((one) => one.classKey === classKey && !placed.has(one.uid));
      let left: readonly PendingReplica[] = without.slice(0, Math.max(0, atLeast - coming - found.length));
      while (left.length > 0) {
        const made = placers.preempt(classKey, left);
        if (!made.isReady) {
          yield 'Look';
          continue;
        }
        plans.push(...made.plans);
        for (const refusal of made.refusals) refusals.add(refusal);
        found.push(...made.plans);
        coming += made.comesFree.length;
        left = made.later;
        if (left.length > 0) yield 'Turn';
      }
    }
    const missing = atLeast - coming - found.length;
    areKept = missing <= 0;
    const gang = replicas[0]?.gang ?? '';
    const decided = parts.map((part) => partOf(part, plans, gang, missing));
    return areKept
      ? { kind: 'Places', coming, parts: decided }
      : none(parts, decided, found.length + coming, refusals);
  } finally {
    if (!areKept) for (const { replica } of found) placers.undo(replica);
  }
}

/** What was decided for some of the members. `missing`: how many more of the gang had to find a place. */
function partOf(
  { turn, result }: Part,
  plans: readonly PreemptionPlan[],
  gang: string,
  missing: number,
): Extract<GangPlan, { kind: 'Places' }>['parts'][number] {
  const uids = new Set(turn.replicas.map(({ uid }) => uid));
  const own = plans.filter(({ replica }) => uids.has(replica.uid));
  const { decision } = withRoomMade(turn, result, { plans: own, later: [], refusals: new Set() });
  const places = [...result.placements, ...own];
  const wanted = Math.max(0, places.length + missing);
  return { places, draft: { ...decision, gang: { name: gang, wanted, found: places.length } } };
}

/** The first that found no place says why nobody gets one. */
function none(
  parts: readonly Part[],
  decided: readonly { readonly draft: DecisionDraft }[],
  found: number,
  refusals: ReadonlySet<ParkReason>,
): GangPlan {
  const at = parts.findIndex(({ result }) => result.waits.length > 0);
  const [part, told] = [parts[Math.max(0, at)], decided[Math.max(0, at)]];
  assert(part !== undefined && told !== undefined, 'a gang without members is not planned');
  const members = parts.reduce((sum, { turn }) => sum + turn.replicas.length, 0);
  const { reason = 'GangIncomplete', message = `${members} members are left` } = part.result.waits[0] ?? {};
  const waits = parts.flatMap(({ result }) => result.waits);
  const reasons = [...new Set([...waits.flatMap((wait) => wait.reasons), ...refusals])];
  return {
    kind: 'None',
    found,
    reason,
    message,
    reasons,
    draft: { ...told.draft, result: 'NotPlaced', reason },
  };
}

/** As if it were in no gang: whether all find a place is judged here. */
function alone(replica: PendingReplica): PendingReplica {
  const { gang: _, ...rest } = replica;
  return rest;
}
