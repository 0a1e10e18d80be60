import type { NodeBinding, StreamReport } from '../model/node-stream.js';
import { isTerminal, type Stage } from '../model/stages.js';
import type { JobEnd } from './driver.js';

/** What there is to say of a replica beside its stage. */
export type Facts = Pick<
  StreamReport,
  'driverId' | 'executions' | 'address' | 'step' | 'message' | 'readiness'
>;

/** What there is of a replica on this machine. */
export type Running =
  /** Not started, and nothing found of it. */
  | { readonly at: 'Nothing' }
  /** [S5] Not known here, and may run elsewhere or unseen: nothing is done about it, and nothing said. */
  | { readonly at: 'NotKnown' }
  /** Told to stop what does not run here: that it never will is being written down. */
  | { readonly at: 'Refusing' }
  /** It never will. */
  | { readonly at: 'Refused' }
  | ({ readonly at: 'Starting' } & Facts)
  | ({ readonly at: 'Ready' } & Facts)
  | { readonly at: 'Stopping' }
  | ({ readonly at: 'Ended' } & JobEnd & Pick<Facts, 'driverId' | 'executions'>);

/** What an agent says of a replica next. */
export interface Word extends Facts {
  readonly stage: Stage;
  readonly reason: string;
  readonly exitCode?: number;
  /** It ran so much longer than its fence permitted. */
  readonly overrunSeconds?: number;
}

/** What to do on the machine, and what to say. At most one of each; afterwards it is asked again. */
export interface Step {
  readonly act?: 'start' | 'stop' | 'refuse';
  readonly say?: Word;
}

const nothing: Step = {};

/**
 * The whole rule of an agent (DESIGN §4, §8): from what runs here and what the control plane believes, the next step.
 * It looks at states and never at events, so that what was said while the node was cut off needs no keeping: the state
 * is said when there is somebody to hear it.
 */
export function nextStep(
  running: Running,
  binding: Pick<NodeBinding, 'intent' | 'type'>,
  stage: Stage,
  mayStart: boolean,
  said: Facts = {},
): Step {
  const isAskedToStop = stage === 'Releasing' || (stage === 'Unknown' && binding.intent !== undefined);
  switch (running.at) {
    case 'Nothing':
      if (isAskedToStop || isTerminal(stage) || stage === 'Unknown') return { act: 'refuse' };
      return stage === 'Bound' && mayStart ? { act: 'start' } : nothing;
    case 'Refused':
      if (isAskedToStop) return { say: { stage: 'Released', reason: 'NotRunning' } };
      return isTerminal(stage) ? nothing : { say: { stage: 'Failed', reason: 'NotRunning' } };
    case 'NotKnown':
    case 'Refusing':
    case 'Stopping':
      return nothing;
    case 'Starting':
    case 'Ready':
      if (isAskedToStop || isTerminal(stage)) return { act: 'stop' };
      return sayRunning(running, stage, said);
    case 'Ended': {
      if (isTerminal(stage)) return nothing;
      const { exitCode, reason, message, overrunMs, driverId, executions } = running;
      const facts = {
        // What ended before anything could be said of it still says how often it ran.
        ...(driverId !== undefined && driverId !== said.driverId && { driverId }),
        ...(executions !== undefined && executions !== said.executions && { executions }),
        ...(exitCode !== undefined && { exitCode }),
        ...(message !== undefined && { message }),
        ...(overrunMs !== undefined && { overrunSeconds: overrunSecondsOf(overrunMs) }),
      };
      if (isAskedToStop) return { say: { stage: 'Released', reason: 'Stopped', ...facts } };
      const isDone = binding.type === 'Batch' && exitCode === 0;
      return { say: { stage: isDone ? 'Succeeded' : 'Failed', reason, ...facts } };
    }
  }
}

function sayRunning(
  running: Running & { readonly at: 'Starting' | 'Ready' },
  stage: Stage,
  said: Facts,
): Step {
  const news = newsOf(running, said);
  const starting = (reason: string): Step => ({ say: { stage: 'Starting', reason, ...news } });
  const ready: Step = { say: { stage: 'Ready', reason: 'ReadyOnNode', ...news } };
  // At the stage where it is believed to be only what is new is said.
  const here: Step =
    Object.keys(news).length === 0 ? nothing : { say: { stage, reason: 'ReportedOnNode', ...news } };
  switch (stage) {
    // A replica is never ready before it has started: the graph has no such edge.
    case 'Bound':
      return starting('Started');
    case 'Starting':
      return running.at === 'Ready' ? ready : here;
    case 'Unknown':
      return running.at === 'Ready' ? ready : starting('Started');
    case 'Ready':
    case 'Serving':
      return running.at === 'Ready' ? here : starting('Restarted');
    default:
      return nothing;
  }
}

/** The facts that differ from what was said last. What is over is taken back: no step, no message, passing. */
function newsOf(running: Facts, said: Facts): Facts {
  const { driverId, executions, address } = running;
  const { step = '', message = '', readiness = { isPassing: true } } = running;
  const { isPassing, message: problem = '' } = said.readiness ?? { isPassing: true };
  const isOther = readiness.isPassing !== isPassing || (readiness.message ?? '') !== problem;
  return {
    ...(driverId !== undefined && driverId !== said.driverId && { driverId }),
    ...(executions !== undefined && executions !== said.executions && { executions }),
    ...(address !== undefined && address !== said.address && { address }),
    ...(step !== (said.step ?? '') && { step }),
    ...(message !== (said.message ?? '') && { message }),
    ...(isOther && { readiness }),
  };
}

export const overrunSecondsOf = (overrunMs: number): number => Math.ceil(overrunMs / 100) / 10;
