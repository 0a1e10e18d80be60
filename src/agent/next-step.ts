import type { NodeBinding } from '../model/node-stream.js';
import { isTerminal, type Stage } from '../model/stages.js';

/** What there is of a replica on this machine. */
export type Running =
  /** Not started, and nothing found of it. */
  | { readonly at: 'Nothing' }
  /** Told to stop what does not run here: it never will. */
  | { readonly at: 'Refused' }
  | { readonly at: 'Starting'; readonly driverId?: string; readonly executions?: number }
  | { readonly at: 'Ready'; readonly driverId?: string; readonly executions?: number }
  | { readonly at: 'Stopping' }
  | { readonly at: 'Ended'; readonly exitCode?: number; readonly reason: string; readonly message?: string };

/** What an agent says of a replica next. */
export interface Word {
  readonly stage: Stage;
  readonly reason: string;
  readonly exitCode?: number;
  readonly driverId?: string;
  readonly executions?: number;
  readonly message?: string;
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
): Step {
  const isAskedToStop = stage === 'Releasing' || (stage === 'Unknown' && binding.intent !== undefined);
  switch (running.at) {
    case 'Nothing':
      if (isAskedToStop || isTerminal(stage) || stage === 'Unknown') return { act: 'refuse' };
      return stage === 'Bound' && mayStart ? { act: 'start' } : nothing;
    case 'Refused':
      if (isAskedToStop) return { say: { stage: 'Released', reason: 'NotRunning' } };
      return isTerminal(stage) ? nothing : { say: { stage: 'Failed', reason: 'NotRunning' } };
    case 'Stopping':
      return nothing;
    case 'Starting':
    case 'Ready':
      if (isAskedToStop || isTerminal(stage)) return { act: 'stop' };
      return sayRunning(running, stage);
    case 'Ended': {
      if (isTerminal(stage)) return nothing;
      const { exitCode, reason, message } = running;
      const facts = {
        ...(exitCode !== undefined && { exitCode }),
        ...(message !== undefined && { message }),
      };
      if (isAskedToStop) return { say: { stage: 'Released', reason: 'Stopped', ...facts } };
      const isDone = binding.type === 'Batch' && exitCode === 0;
      return { say: { stage: isDone ? 'Succeeded' : 'Failed', reason, ...facts } };
    }
  }
}

function sayRunning(running: Running & { readonly at: 'Starting' | 'Ready' }, stage: Stage): Step {
  const { driverId, executions } = running;
  const facts = {
    ...(driverId !== undefined && { driverId }),
    ...(executions !== undefined && { executions }),
  };
  const starting = (reason: string): Step => ({ say: { stage: 'Starting', reason, ...facts } });
  const ready: Step = { say: { stage: 'Ready', reason: 'ReadyOnNode', ...facts } };
  switch (stage) {
    // A replica is never ready before it has started: the graph has no such edge.
    case 'Bound':
      return starting('Started');
    case 'Starting':
      return running.at === 'Ready' ? ready : nothing;
    case 'Unknown':
      return running.at === 'Ready' ? ready : starting('Started');
    case 'Ready':
    case 'Serving':
      return running.at === 'Ready' ? nothing : starting('Restarted');
    default:
      return nothing;
  }
}
