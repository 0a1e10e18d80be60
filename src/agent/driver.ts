import type { NodeBinding } from '../model/node-stream.js';
import type { Permit, RunEnd, RunEndReason } from './runner.js';

/** What a driver tells of a job, in the order it happened. */
export type DriverEvent =
  /** It runs. A job that was started again says so again. */
  | {
      readonly kind: 'Started';
      readonly uid: string;
      readonly driverId: string;
      readonly executions: number;
      readonly address?: string;
    }
  /** What is being done on the way: pulling an image, waiting before a restart. */
  | { readonly kind: 'Step'; readonly uid: string; readonly step: string; readonly message?: string }
  /** Its readiness probe passes, or it has none and runs. */
  | { readonly kind: 'Ready'; readonly uid: string }
  /** Its readiness probe passes no more. It goes on running. */
  | { readonly kind: 'NotReady'; readonly uid: string; readonly message: string }
  /** It does not run any more and will not by itself: it ended, could not be started, or was stopped. */
  | ({ readonly kind: 'Exited'; readonly uid: string } & JobEnd);

export interface JobEnd extends Omit<RunEnd, 'reason'> {
  readonly reason:
    | RunEndReason
    | 'Completed'
    | 'LivenessFailed'
    | 'RestartBudgetSpent'
    | 'StartDeadlinePassed'
    | 'NotRunning';
}

/** What became of a job that an agent did not start in this life. */
export type Found =
  | 'Running'
  | 'Ready'
  | 'Gone'
  /** What could say so does not answer yet. */
  | 'NotKnown';

/**
 * Runs jobs on a machine. Calls return at once; what comes of them is told by events, never from within a call. The jobs outlive
 * the agent where the driver can make them.
 */
export interface Driver {
  /** Whether it keeps the fence of AtMostOne jobs: see `permit`. */
  readonly canFence: boolean;
  /** Where events go from now on; and who is told that what was not known can be asked for again. */
  attach(onEvent: (event: DriverEvent) => void, onFound: () => void): void;
  /** What is there of a job that another life of the agent may have started. */
  adopt(job: NodeBinding): Found;
  /** Jobs that are there, by uid, so that those that may not run are stopped. */
  list(): Iterable<string>;
  start(job: NodeBinding): void;
  /** Asks it to end, and ends it when the grace is over. Exited follows, also for what is not there. */
  stop(uid: string, graceSeconds: number): void;
  /** The control plane knows how it ended, or does not want it: what is kept of it goes, once nothing of it runs. */
  forget(uid: string): void;
  /** Until when fenced jobs may start and run, unless a later permit is given before. */
  permit(permit: Permit): void;
}
