import { completionsOf } from '../../model/completions.js';
import type { Gang, GangSpec } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision, WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import { allowsSecondCopy } from '../../model/second-copy.js';
import { awaitedCopy } from './awaited-copy.js';
import { failuresAfter } from './failures.js';
import { revisionOf } from './revision-of.js';
import type { Slot, Slots } from './slot.js';
import { hasEnded, isAsWished, slotWished, slotWishes, stageOf, type WishInput } from './slot-wishes.js';

/** One thing to do for a workload. Steps on replicas do not depend on one another; the others come before them. */
export type WorkloadStep =
  | { readonly kind: 'AddFinalizer' }
  | { readonly kind: 'RemoveFinalizer' }
  | { readonly kind: 'CreateRevision'; readonly name: string; readonly spec: WorkloadRevisionSpec }
  | { readonly kind: 'CreateGang' | 'ChangeGang'; readonly spec: GangSpec }
  | { readonly kind: 'DeleteGang'; readonly uid: string }
  | {
      readonly kind: 'Incarnate';
      readonly slot: string;
      readonly incarnation: number;
      readonly revision: string;
      readonly gang?: string;
      readonly stage: 'Admitted' | 'Queued';
      readonly reason: string;
      readonly failuresBefore: number;
    }
  | { readonly kind: 'Queue'; readonly replica: Replica }
  | EndStep;

/** How a replica that is not wanted any more goes. */
export type EndStep =
  | { readonly kind: 'Release' | 'Evict'; readonly replica: Replica; readonly reason: string }
  | { readonly kind: 'Forget'; readonly replica: Replica; readonly dropSlot: boolean };

export interface WorkloadPlan {
  readonly steps: readonly WorkloadStep[];
  /** When to look again although nothing changes, as far as this part can say; undefined: not. */
  readonly waitMs: number | undefined;
  /** What there is to do besides, in the next part; undefined: nothing. */
  readonly more: (() => WorkloadPlan) | undefined;
}

export interface PlanInput extends WishInput {
  readonly revisions: readonly WorkloadRevision[];
  readonly gang: Gang | undefined;
}

export const replicasFinalizer = 'berth.dev/replicas';
/** So many steps at most in one part of a plan: what others have to wait for. */
export const stepsMax = 250;
/** So many ended replicas stay in a slot, for people to look at. */
const endedKept = 2;

/** What a workload needs next: the whole rule of its controller. In parts, each planned when it is asked for. */
export function planWorkload(input: PlanInput): WorkloadPlan {
  const isDeleting = input.workload.metadata.deletionTimestamp !== undefined;
  let waitMs: number | undefined;
  const noteWait = (ms: number): void => {
    waitMs = Math.min(ms, waitMs ?? Number.POSITIVE_INFINITY);
  };
  const all = isDeleting ? deletionSteps(input) : allSteps(input, noteWait);
  const part = (first?: WorkloadStep): WorkloadPlan => {
    const steps: WorkloadStep[] = first === undefined ? [] : [first];
    for (let next = all.next(); next.done !== true; next = all.next()) {
      const step = next.value;
      if (steps.length === stepsMax) return { steps, waitMs, more: () => part(step) };
      steps.push(step);
    }
    return { steps, waitMs, more: undefined };
  };
  return part();
}

function* deletionSteps({ workload, slots }: PlanInput): Generator<WorkloadStep> {
  for (const slot of highestFirst(slots.keys())) yield* dropSteps(slots.get(slot), 'Deleted');
  if (slots.size === 0 && workload.metadata.finalizers?.includes(replicasFinalizer))
    yield { kind: 'RemoveFinalizer' };
}

function* allSteps(input: PlanInput, noteWait: (ms: number) => void): Generator<WorkloadStep> {
  const { workload, slots } = input;
  const revision = revisionOf(workload);
  yield* prerequisites(input, revision);
  if (isAsWished(input)) return;
  const isWished = slotWished(input);
  for (const slot of highestFirst([...slots.keys()].filter((one) => !isWished(one))))
    yield* dropSteps(slots.get(slot), 'ScaledDown');
  // Only a batch has more active than it may at times.
  const yielding: string[] = [];
  if (workload.spec.type === 'Batch')
    for (const [slot, { kind }] of slotWishes(input)) if (kind === 'Yield') yielding.push(slot);
  for (const slot of highestFirst(yielding)) yield* endSteps(slots.get(slot)?.newest, 'ScaledDown');
  for (const [slot, wish] of slotWishes(input)) {
    // As it is now: it may change before the next step is asked for.
    const { newest: current, older = [] } = slots.get(slot) ?? {};
    const copy = awaitedCopy(workload, { older });
    if (wish.kind === 'Wait') noteWait(wish.ms);
    if (wish.kind === 'Run' && mayFollow(workload, current, older))
      yield incarnation(workload, revision.name, slot, current);
    if (current !== undefined && !hasEnded(current)) {
      if (current.metadata.deletionTimestamp !== undefined) yield* endSteps(current, 'Deleted');
      // [S5] It was made while its workload allowed a second copy: the next one is made once the lost one has ended.
      else if (copy !== undefined && hasNotStarted(current)) yield* endSteps(current, 'AwaitsLostCopy');
      else if (stageOf(current) === 'Admitted' && wish.kind !== 'Yield' && workload.spec.suspend !== true)
        yield { kind: 'Queue', replica: current };
    }
    if (current !== undefined && older.length > 0) yield* olderSteps(current, older);
  }
}

function* prerequisites(
  { workload, revisions, gang, slots }: PlanInput,
  { name, spec }: ReturnType<typeof revisionOf>,
): Generator<WorkloadStep> {
  if (!workload.metadata.finalizers?.includes(replicasFinalizer)) yield { kind: 'AddFinalizer' };
  if (!revisions.some(({ metadata }) => metadata.name === name)) {
    const highest = Math.max(0, ...revisions.map((revision) => revision.spec.revision));
    yield { kind: 'CreateRevision', name, spec: { ...spec, revision: highest + 1 } };
  }
  const wanted = gangOf(workload);
  if (wanted === undefined) {
    // [L7] Whatever it had come to, nobody would bring it further, and those that give way to it would wait.
    if (gang !== undefined && !hasMembers(slots)) yield { kind: 'DeleteGang', uid: gang.metadata.uid };
    return;
  }
  if (gang === undefined) yield { kind: 'CreateGang', spec: wanted };
  else if (gang.spec.minAvailable !== wanted.minAvailable || gang.spec.members !== wanted.members)
    yield { kind: 'ChangeGang', spec: wanted };
}

/** The gang that its replicas start with. Without members there is none. */
export function gangOf({ metadata, spec }: Workload): GangSpec | undefined {
  const { replicas = 1 } = spec;
  const members = spec.type === 'Batch' ? Math.min(replicas, completionsOf(spec)) : replicas;
  if (spec.gang === undefined || members === 0) return undefined;
  const minAvailable = Math.min(members, spec.gang.minAvailable ?? members);
  return { workload: metadata.name, minAvailable, members };
}

/** Whether one that has not ended started with a gang, or still waits for it. */
function hasMembers(slots: Slots): boolean {
  const isMember = (replica: Replica): boolean => replica.spec.gang !== undefined && !hasEnded(replica);
  for (const { newest, older } of slots.values()) if (isMember(newest) || older.some(isMember)) return true;
  return false;
}

function incarnation(
  workload: Workload,
  revision: string,
  slot: string,
  last: Replica | undefined,
): WorkloadStep {
  const isSuspended = workload.spec.suspend === true;
  return {
    kind: 'Incarnate',
    slot,
    incarnation: (last?.spec.incarnation ?? 0) + 1,
    revision,
    ...(gangOf(workload) !== undefined && { gang: workload.metadata.name }),
    stage: isSuspended ? 'Admitted' : 'Queued',
    reason: isSuspended ? 'Suspended' : last === undefined ? 'Wanted' : 'Replaces',
    failuresBefore: last === undefined ? 0 : failuresAfter(last, workload.spec.type ?? 'Service'),
  };
}

/** Whether the slot may get its next replica now. */
function mayFollow(workload: Workload, current: Replica | undefined, older: readonly Replica[]): boolean {
  if (current === undefined) return true;
  if (hasEnded(current)) return awaitedCopy(workload, { older }) === undefined;
  return allowsSecondCopy(workload.spec) && mayBeReplaced(current, older);
}

const hasNotStarted = (replica: Replica): boolean =>
  ['Admitted', 'Queued', 'Scheduled'].includes(stageOf(replica));

/** [S12] Repair says that a second one is allowed beside the lost one, and no other of the slot is left. */
function mayBeReplaced(current: Replica, older: readonly Replica[]): boolean {
  if (stageOf(current) !== 'Unknown') return false;
  const isReplaceable = current.status?.conditions?.some(
    ({ type, status }) => type === 'Replaceable' && status === 'True',
  );
  return isReplaceable === true && older.every(hasEnded);
}

/** Ends a replica if nobody has asked for that yet. What is on its way out is left to its agent, or to repair. */
export function* endSteps(replica: Replica | undefined, reason: string): Generator<EndStep> {
  if (replica === undefined) return;
  switch (stageOf(replica)) {
    case 'Admitted':
    case 'Queued':
    case 'Scheduled':
      yield { kind: 'Release', replica, reason };
      return;
    case 'Bound':
    case 'Starting':
    case 'Ready':
    case 'Serving':
      yield { kind: 'Evict', replica, reason };
      return;
    case 'Unknown':
      // The intent survives that its node is lost.
      if (replica.status?.intent === undefined) yield { kind: 'Evict', replica, reason };
      return;
    case 'Releasing':
    case 'Succeeded':
    case 'Failed':
    case 'Released':
  }
}

/** Ends all replicas of a slot and forgets those that have ended, the one that the slot names last. */
function* dropSteps(slot: Slot | undefined, reason: string): Generator<WorkloadStep> {
  if (slot === undefined) return;
  const { newest: current, older } = slot;
  for (const replica of older) {
    yield* endSteps(replica, reason);
    if (hasEnded(replica)) yield { kind: 'Forget', replica, dropSlot: false };
  }
  if (!hasEnded(current)) yield* endSteps(current, reason);
  else if (older.length === 0) yield { kind: 'Forget', replica: current, dropSlot: true };
}

/** Forgets ended replicas but the newest ones; the one that the slot names always stays. */
function* olderSteps(current: Replica, older: readonly Replica[]): Generator<WorkloadStep> {
  let kept = hasEnded(current) ? 1 : 0;
  for (const replica of older) {
    const isDeleted = replica.metadata.deletionTimestamp !== undefined;
    if (!hasEnded(replica)) {
      if (isDeleted) yield* endSteps(replica, 'Deleted');
    } else if (isDeleted || kept >= endedKept) yield { kind: 'Forget', replica, dropSlot: false };
    else kept += 1;
  }
}

/** By number where they are numbers, by name where they are nodes. */
function highestFirst(slots: Iterable<string>): string[] {
  return [...slots].toSorted((a, b) => Number(b) - Number(a) || (a < b ? 1 : -1));
}
