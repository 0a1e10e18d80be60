import type { Random } from '../../env/random.js';
import type { DriverEvent, JobEnd } from '../driver.js';
import type { RunEnd } from '../runner.js';
import { afterEnd, type RestartRules } from './restart-rule.js';

/** What a job's template says of its upkeep. */
export interface UpkeepRules extends RestartRules {
  readonly startDeadlineMs: number;
  readonly hasReadiness: boolean;
  readonly graceSeconds: number;
}

/** Why a job that is being ended is. */
export type Ending =
  | { readonly why: 'Asked' }
  | { readonly why: 'LivenessFailed'; readonly message: string }
  | { readonly why: 'StartDeadlinePassed'; readonly message: string };

/** Where a job stands, above its executions. */
export interface Upkeep {
  /** The execution that is there, or was last. */
  readonly execution: number;
  readonly at:
    | { readonly kind: 'Starting' }
    | { readonly kind: 'Running' }
    /** Nothing runs; it is started again at that time. */
    | { readonly kind: 'Resting'; readonly untilMs: number; readonly last: JobEnd }
    | { readonly kind: 'Ending'; readonly ending: Ending }
    | { readonly kind: 'Over'; readonly end: JobEnd };
  /** Since when it is on its way to be ready; undefined while it is, or has been since its last start. */
  readonly startingSinceMs: number | undefined;
  readonly step: { readonly step: string; readonly message: string };
  readonly restartsMs: readonly number[];
}

/** What may happen to a job. */
export type Happening =
  | { readonly kind: 'Step'; readonly execution: number; readonly step: string; readonly message?: string }
  | {
      readonly kind: 'Running';
      readonly execution: number;
      readonly driverId: string;
      readonly address?: string;
    }
  | { readonly kind: 'Ended'; readonly execution: number; readonly end: RunEnd }
  /** An answer of the readiness probe: whether it passes by now, and what it said. */
  | { readonly kind: 'Readiness'; readonly isPassing: boolean; readonly message: string }
  | { readonly kind: 'LivenessFailed'; readonly message: string }
  | { readonly kind: 'AskedToStop'; readonly graceSeconds: number }
  /** Time has passed, or a permit has come. */
  | { readonly kind: 'Look' };

type WithoutUid<T> = T extends DriverEvent ? Omit<T, 'uid'> : never;

/** What to do about it, in this order. */
export type Act =
  | { readonly kind: 'Start'; readonly execution: number }
  | { readonly kind: 'Stop'; readonly graceSeconds: number }
  /** Begin to probe the execution that runs now. */
  | { readonly kind: 'Probe' }
  | { readonly kind: 'EndProbes' }
  | { readonly kind: 'Tell'; readonly event: WithoutUid<DriverEvent> };

export interface Turn {
  readonly next: Upkeep;
  readonly acts: readonly Act[];
}

export interface Now {
  readonly ms: number;
  /** Whether an execution may start at all: one that is fenced needs a permit. */
  readonly mayStart: boolean;
  readonly random: Random;
}

export const newUpkeep = (nowMs: number): Upkeep => ({
  execution: 1,
  at: { kind: 'Starting' },
  startingSinceMs: nowMs,
  step: { step: 'Starting', message: '' },
  restartsMs: [],
});

const tell = (event: WithoutUid<DriverEvent>): Act => ({ kind: 'Tell', event });

/** The whole rule of keeping a job up (DESIGN §4, §7): what follows from what has happened. */
export function nextUpkeep(upkeep: Upkeep, happening: Happening, rules: UpkeepRules, now: Now): Turn {
  const { at } = upkeep;
  const nothing: Turn = { next: upkeep, acts: [] };
  if ('execution' in happening && happening.execution !== upkeep.execution) return nothing;
  switch (happening.kind) {
    case 'Step': {
      if (at.kind !== 'Starting') return nothing;
      return stepped(upkeep, happening.step, happening.message ?? '');
    }
    case 'Running': {
      if (at.kind !== 'Starting') return nothing;
      const { driverId, address } = happening;
      const executions = upkeep.execution;
      const started = tell({
        ...{ kind: 'Started', driverId, executions },
        ...(address !== undefined && { address }),
      });
      const step = rules.hasReadiness ? 'WaitingForReadiness' : '';
      const next: Upkeep = { ...upkeep, at: { kind: 'Running' }, step: { step, message: '' } };
      if (rules.hasReadiness) return { next, acts: [started, { kind: 'Probe' }] };
      return {
        next: { ...next, startingSinceMs: undefined },
        acts: [started, { kind: 'Probe' }, tell({ kind: 'Ready' })],
      };
    }
    case 'Readiness': {
      if (at.kind !== 'Running') return nothing;
      const { isPassing, message } = happening;
      if (isPassing)
        return {
          next: { ...upkeep, startingSinceMs: undefined, step: { step: '', message: '' } },
          acts: [tell({ kind: 'Ready' })],
        };
      return upkeep.startingSinceMs === undefined
        ? { next: upkeep, acts: [tell({ kind: 'NotReady', message })] }
        : stepped(upkeep, 'WaitingForReadiness', message);
    }
    case 'LivenessFailed':
      if (at.kind !== 'Running') return nothing;
      return ending(upkeep, { why: 'LivenessFailed', message: happening.message }, rules.graceSeconds);
    case 'AskedToStop':
      return askedToStop(upkeep, happening.graceSeconds);
    case 'Ended':
      return ended(upkeep, happening.end, rules, now);
    case 'Look':
      return look(upkeep, rules, now);
  }
}

/** When time alone makes a difference to it; undefined if never. One whose rest is over waits for a permit. */
export function dueAtMs(
  { at, startingSinceMs }: Upkeep,
  { startDeadlineMs }: UpkeepRules,
  nowMs: number,
): number | undefined {
  if (at.kind === 'Ending' || at.kind === 'Over') return undefined;
  if (at.kind === 'Resting' && at.untilMs > nowMs) return at.untilMs;
  return startingSinceMs === undefined ? undefined : startingSinceMs + startDeadlineMs;
}

function stepped(upkeep: Upkeep, step: string, message: string): Turn {
  if (upkeep.step.step === step && upkeep.step.message === message) return { next: upkeep, acts: [] };
  return { next: { ...upkeep, step: { step, message } }, acts: [tell({ kind: 'Step', step, message })] };
}

function ending(upkeep: Upkeep, why: Ending, graceSeconds: number): Turn {
  return {
    next: { ...upkeep, at: { kind: 'Ending', ending: why } },
    acts: [{ kind: 'EndProbes' }, { kind: 'Stop', graceSeconds }],
  };
}

const over = (upkeep: Upkeep, end: JobEnd): Turn => ({
  next: { ...upkeep, at: { kind: 'Over', end }, startingSinceMs: undefined },
  acts: [{ kind: 'EndProbes' }, tell({ kind: 'Exited', ...end })],
});

function askedToStop(upkeep: Upkeep, graceSeconds: number): Turn {
  switch (upkeep.at.kind) {
    case 'Over':
      return { next: upkeep, acts: [tell({ kind: 'Exited', ...upkeep.at.end })] };
    case 'Resting':
      return over(upkeep, { ...upkeep.at.last, reason: 'Stopped' });
    default:
      return ending(upkeep, { why: 'Asked' }, graceSeconds);
  }
}

function ended(upkeep: Upkeep, end: RunEnd, rules: UpkeepRules, now: Now): Turn {
  const { at } = upkeep;
  if (at.kind === 'Over' || at.kind === 'Resting') return { next: upkeep, acts: [] };
  const known: JobEnd = { ...end };
  if (at.kind !== 'Ending') return restarted(upkeep, known, rules, now);
  switch (at.ending.why) {
    case 'Asked':
      return over(upkeep, end.reason === 'Fenced' ? known : { ...known, reason: 'Stopped' });
    case 'StartDeadlinePassed':
      return over(upkeep, { ...known, reason: 'StartDeadlinePassed', message: at.ending.message });
    case 'LivenessFailed':
      if (end.reason === 'Fenced') return over(upkeep, known);
      return restarted(
        upkeep,
        { ...known, reason: 'LivenessFailed', message: at.ending.message },
        rules,
        now,
      );
  }
}

function restarted(upkeep: Upkeep, end: JobEnd, rules: UpkeepRules, now: Now): Turn {
  const after = afterEnd(end, rules, upkeep.restartsMs, now.ms, now.random);
  if (after.kind === 'Exit') return over(upkeep, after.end);
  const { afterMs, restartsMs, message } = after;
  const next: Upkeep = {
    ...upkeep,
    at: { kind: 'Resting', untilMs: now.ms + afterMs, last: end },
    // One that was ready is on its way again from now; the time of one that never was runs on.
    startingSinceMs: upkeep.startingSinceMs ?? now.ms,
    step: { step: 'Restarting', message },
    restartsMs,
  };
  return { next, acts: [{ kind: 'EndProbes' }, tell({ kind: 'Step', ...next.step })] };
}

function look(upkeep: Upkeep, rules: UpkeepRules, now: Now): Turn {
  const { at, startingSinceMs } = upkeep;
  if (at.kind === 'Ending' || at.kind === 'Over') return { next: upkeep, acts: [] };
  if (startingSinceMs !== undefined && now.ms >= startingSinceMs + rules.startDeadlineMs) {
    const { step, message } = upkeep.step;
    const said = `not ready within ${rules.startDeadlineMs / 1_000} s; at ${step}${message === '' ? '' : `: ${message}`}`;
    if (at.kind === 'Resting')
      return over(upkeep, { ...at.last, reason: 'StartDeadlinePassed', message: said });
    return ending(upkeep, { why: 'StartDeadlinePassed', message: said }, rules.graceSeconds);
  }
  if (at.kind !== 'Resting' || now.ms < at.untilMs || !now.mayStart) return { next: upkeep, acts: [] };
  const execution = upkeep.execution + 1;
  return {
    next: { ...upkeep, execution, at: { kind: 'Starting' }, step: { step: 'Starting', message: '' } },
    acts: [{ kind: 'Start', execution }],
  };
}
