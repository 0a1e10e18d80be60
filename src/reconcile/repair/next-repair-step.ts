import type { Remarked, ReleaseProof } from '../../model/ports.js';
import type { Epoch, FenceRecord } from '../../model/records.js';
import { judgedTogetherMs } from '../../observe/brake-observer.js';
import type { BrakeState } from '../../observe/brakes.js';
import { type Deed, permit, type Permit, type SignalFor } from '../../observe/evidence.js';
import type { Stage } from '../../model/stages.js';

/** What is known of the node that a replica is bound to, as the one who asks has seen it. */
export interface NodeEvidence {
  /** How long its lease key has stood unchanged under this leader. */
  readonly silentMs: number;
  /** How long its lease lasts without a renewal. */
  readonly leaseMs: number;
  readonly leaseRevision: number;
  /** It was heard of within its lease. Neither that nor silent for a lease: this leader has not listened for so long. */
  readonly isHeard: boolean;
  /** A person attests that what ran there has stopped. */
  readonly isAttested: boolean;
  /** [S5] The replica was bound before the journal that its agent has, which began at this epoch. Its agent is no witness. */
  readonly anotherJournal?: Epoch;
}

/** What its workload wants when its node is lost; `Gone`: there is no workload that could want anything. */
export type LostRule =
  | { readonly action: 'Fence' | 'Replace' | 'Wait'; readonly afterSeconds: number }
  | { readonly action: 'Gone' };

export interface RepairInput {
  readonly stage: Stage;
  /** It was bound to end by itself when renewals fail. */
  readonly isFenced: boolean;
  /** Somebody has asked for its release. */
  readonly isAskedToStop: boolean;
  /** Another has taken its slot. */
  readonly isReplaced: boolean;
  readonly rule: LostRule;
  /** Undefined: nothing was ever heard of it. */
  readonly node: NodeEvidence | undefined;
  /** How long this process has seen it at this stage, and under the same journal; and at this stage while its node was heard of without a break. */
  readonly inStageMs: number;
  readonly heardMs: number;
  readonly startDeadlineSeconds: number;
  /** How long it gets to stop. */
  readonly graceSeconds: number;
  readonly fence: Pick<FenceRecord, 'windowSeconds'>;
  /** What holds repair back around its node. */
  readonly brake: BrakeState;
}

/** What decides while it may run: neither what its workload wants of a lost one, nor who else is silent. */
export type RunningInput = Pick<
  RepairInput,
  'stage' | 'node' | 'inStageMs' | 'startDeadlineSeconds' | 'graceSeconds'
>;

/** The next step of a repair. `ms`: when to look again although nothing changes. */
export type RepairStep =
  | { readonly kind: 'wait'; readonly ms?: number }
  /** It would be given away, and a brake holds that back. */
  | { readonly kind: 'held'; readonly ms: number }
  | { readonly kind: 'move'; readonly reason: UnknownReason; readonly on: On<'callUnknown'> }
  | { readonly kind: 'release'; readonly proof: ReleaseProof; readonly on: On<'release'> }
  /** Its node is there: its agent is asked to stop it, and to say so. */
  | { readonly kind: 'stop'; readonly reason: string; readonly on: On<'askToStop'> }
  /** People are told, and the workload controller may act on it; then it waits. */
  | {
      readonly kind: 'tell';
      readonly remarks: readonly Remarked[];
      readonly ms?: number;
      readonly on: On<'replace'> & On<'askHuman'>;
    };

/** The signals on which repair may do something: the table of evidence says which, and others do not compile. */
type On<D extends Deed> = SignalFor<'repair-controller', D>;

/** Leave to take a step on what was observed: a step that the table does not allow stops the process. */
export function permitsOf(step: RepairStep): readonly Permit<Deed>[] {
  const actor = 'repair-controller';
  switch (step.kind) {
    case 'wait':
      return [];
    case 'held':
      return [permit(actor, 'manySilent', 'holdRepairBack')];
    case 'move':
      return [permit(actor, step.on, 'callUnknown')];
    case 'release':
      return [permit(actor, step.on, 'release')];
    case 'stop':
      return [permit(actor, step.on, 'askToStop')];
    case 'tell':
      return step.remarks.map(({ type }) =>
        type === 'Replaceable' ? permit(actor, step.on, 'replace') : permit(actor, step.on, 'askHuman'),
      );
  }
}

export type UnknownReason =
  | 'LeaseExpired'
  | 'JournalLost'
  | 'StartDeadlinePassed'
  | 'StartOverdue'
  | 'StopOverdue';

/** What an agent's own deadlines may be late by before somebody else draws conclusions: its report is on the way. */
export const reportSlackMs = 30_000;

/** An agent that is back says what runs as soon as it is told what is bound to it. So long it is left to do so. */
export const answerMs = 60_000;

const wait = (ms?: number): RepairStep => (ms === undefined ? { kind: 'wait' } : { kind: 'wait', ms });

/**
 * The whole rule of repair (DESIGN §4, §7, §8): from what is known of a replica and its node to the one next step.
 * Silence says that nobody knows; only an expired fence or somebody's word says that something has stopped.
 */
export function nextRepairStep(input: RepairInput): RepairStep {
  switch (input.stage) {
    case 'Bound':
    case 'Starting':
    case 'Ready':
    case 'Serving':
    case 'Releasing':
      return whileItMayRun(input);
    case 'Unknown':
      return whileBraked(input, whileUnknown(input));
    case 'Admitted':
    case 'Queued':
    case 'Scheduled':
    case 'Succeeded':
    case 'Failed':
    case 'Released':
      return wait();
  }
}

/**
 * [L5] What its lease and the deadline of its stage say. For whoever knows that it is neither lost nor ended: most are
 * not, and less need be looked up for them.
 */
export function whileItMayRun(input: RunningInput): RepairStep {
  const { node, inStageMs } = input;
  // Of a node that nobody ever heard of, silence is counted from the first look at what is bound there.
  const silentMs = node?.silentMs ?? inStageMs;
  const leaseMs = node?.leaseMs ?? reportSlackMs;
  if (silentMs > leaseMs) return { kind: 'move', reason: 'LeaseExpired', on: 'leaseExpired' };
  if (node?.anotherJournal !== undefined)
    return { kind: 'move', reason: 'JournalLost', on: 'anotherJournal' };
  // While it is heard of, the verdict that it is not wakes whoever waits. One that never was may have its verdict already.
  const silenceLeftMs = node?.isHeard === true ? undefined : leaseMs - silentMs + 1;
  const deadline = deadlineOf(input);
  if (deadline === undefined) return wait(silenceLeftMs);
  const leftMs = deadline.ms - inStageMs;
  if (leftMs <= 0) return { kind: 'move', reason: deadline.reason, on: 'noReport' };
  return wait(Math.min(leftMs, silenceLeftMs ?? leftMs));
}

/** How long it may be at its stage, and what it means if it is there for longer. */
export function deadlineOf({
  stage,
  startDeadlineSeconds,
  graceSeconds,
}: Pick<RunningInput, 'stage' | 'startDeadlineSeconds' | 'graceSeconds'>):
  | {
      readonly ms: number;
      readonly reason: UnknownReason;
    }
  | undefined {
  switch (stage) {
    case 'Bound':
      return { ms: startDeadlineSeconds * 1_000, reason: 'StartDeadlinePassed' };
    case 'Starting':
      // That it did not start in time is its agent's to say. It had the time to say so.
      return { ms: startDeadlineSeconds * 1_000 + reportSlackMs, reason: 'StartOverdue' };
    case 'Releasing':
      return { ms: graceSeconds * 1_000 + reportSlackMs, reason: 'StopOverdue' };
    default:
      return undefined;
  }
}

/** How long to wait before a brake is looked at again. */
export const brakeLookMs = 5_000;

/** Whether a step gives its slot to another without the word of anybody who knows that it has stopped. */
export const givesAway = (step: RepairStep): boolean =>
  (step.kind === 'release' && step.proof.kind !== 'Attested') ||
  (step.kind === 'tell' && step.remarks.some(({ type }) => type === 'Replaceable'));

function whileBraked({ brake, node }: RepairInput, step: RepairStep): RepairStep {
  if (!givesAway(step)) return step;
  if (brake === 'Stop') return { kind: 'held', ms: brakeLookMs };
  // Where leases are short, one is lost before it is seen whether the others are as silent: no brake can be on yet.
  const isBySilence = 'on' in step && (step.on === 'leaseExpired' || step.on === 'fenceExpired');
  const leftMs = judgedTogetherMs - (node?.silentMs ?? judgedTogetherMs);
  return isBySilence && leftMs > 0 ? wait(leftMs) : step;
}

function whileUnknown(input: RepairInput): RepairStep {
  const { node, inStageMs } = input;
  if (node?.isAttested === true) return { kind: 'release', proof: { kind: 'Attested' }, on: 'attestation' };
  // Whoever had the name before renewed for the last time before the journal began: since then it is as if it were silent.
  if (node?.anotherJournal !== undefined) return whileLost(input, inStageMs);
  const silentMs = node?.silentMs ?? inStageMs;
  if (node !== undefined && silentMs <= node.leaseMs)
    return node.isHeard ? whileHeard(input) : wait(node.leaseMs - silentMs + 1);
  return whileLost(input, silentMs);
}

/** Nobody who knows has spoken for so long: what its workload wants decides. */
function whileLost(input: RepairInput, lostMs: number): RepairStep {
  const { node, isFenced, fence, rule } = input;
  if (rule.action === 'Replace') return whileReplaceable(input, lostMs);
  const windowMs = fence.windowSeconds * 1_000;
  const afterMs = rule.action === 'Gone' ? 0 : rule.afterSeconds * 1_000;
  if (rule.action === 'Wait' || !isFenced || node === undefined)
    return lostMs < afterMs ? wait(afterMs - lostMs) : tell([needsHuman(input)], undefined, lostOn(input));
  const leftMs = Math.max(windowMs, afterMs) - lostMs;
  if (leftMs > 0) return wait(leftMs);
  const { leaseRevision, anotherJournal: journalSince } = node;
  const stoodSeconds = lostMs / 1_000;
  if (journalSince !== undefined)
    return {
      kind: 'release',
      proof: { kind: 'JournalExpired', journalSince, stoodSeconds },
      on: 'journalExpired',
    };
  return {
    kind: 'release',
    proof: { kind: 'FenceExpired', leaseRevision, stoodSeconds },
    on: 'fenceExpired',
  };
}

/** One replacement while nobody knows of it; and somebody has to look, if its node stays away for long. */
function whileReplaceable(input: RepairInput, lostMs: number): RepairStep {
  const { rule, fence, isReplaced } = input;
  const afterMs = rule.action === 'Gone' ? 0 : rule.afterSeconds * 1_000;
  if (lostMs < afterMs) return wait(afterMs - lostMs);
  const remarks = isReplaced ? [] : [replaceable(afterMs)];
  const humanMs = Math.max(afterMs, fence.windowSeconds * 1_000);
  return lostMs < humanMs
    ? tell(remarks, humanMs - lostMs, lostOn(input))
    : tell([...remarks, needsHuman(input)], undefined, lostOn(input));
}

const lostOn = ({ node }: RepairInput): 'anotherJournal' | 'leaseExpired' =>
  node?.anotherJournal === undefined ? 'leaseExpired' : 'anotherJournal';

/** Its node is heard of: its agent knows, and is asked. */
function whileHeard(input: RepairInput): RepairStep {
  const { isAskedToStop, isReplaced, heardMs, rule } = input;
  if (!isAskedToStop)
    return heardMs < answerMs
      ? wait(answerMs - heardMs)
      : { kind: 'stop', reason: 'NoReport', on: 'noReport' };
  const afterMs = rule.action === 'Gone' ? 0 : rule.afterSeconds * 1_000;
  if (heardMs < afterMs) return wait(afterMs - heardMs);
  const remarks = rule.action === 'Replace' && !isReplaced ? [replaceable(afterMs)] : [];
  return tell([...remarks, needsHuman(input)], undefined, 'noReport');
}

const tell = (
  remarks: readonly Remarked[],
  ms?: number,
  on: 'leaseExpired' | 'anotherJournal' | 'noReport' = 'leaseExpired',
): RepairStep => ({ kind: 'tell', remarks, on, ...(ms !== undefined && { ms }) });

const replaceable = (afterMs: number): Remarked => ({
  type: 'Replaceable',
  reason: 'SilentForLong',
  message: `nothing was heard of it for ${afterMs / 1_000} s, after which its workload allows a second one beside it`,
});

function needsHuman({ node, isFenced, rule, isAskedToStop }: RepairInput): Remarked {
  const attest = 'whoever knows that it has stopped may attest that of its node (berth attest)';
  const isHeard = node?.isHeard === true;
  if (node?.anotherJournal !== undefined)
    return {
      ...{ type: 'NeedsHuman', reason: 'JournalLost' },
      message: `nobody knows whether it still runs: its node has another journal than when it was bound there; ${attest}`,
    };
  const why =
    isHeard && isAskedToStop
      ? 'its node is there and does not say that it has stopped'
      : rule.action === 'Wait'
        ? 'its workload asks to wait'
        : rule.action === 'Fence' && !isFenced
          ? 'it was bound without a fence'
          : 'its node is silent, and it does not stop by itself';
  return {
    type: 'NeedsHuman',
    reason: isHeard ? 'StopNotReported' : 'NodeSilent',
    message: `nobody knows whether it still runs: ${why}; ${attest}, or the node comes back`,
  };
}
