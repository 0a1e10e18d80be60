import type { BootInstant } from '../env/instant.js';
import type { NodeBinding } from '../model/node-stream.js';
import type { LogLabels } from '../model/log-record.js';
import type { Template } from '../model/parts/template.js';
import type { LogWriter } from './logs/log-writer.js';

/** Why an execution is over, as one word that stands on the replica. */
export type RunEndReason =
  | 'Exited'
  /** By a signal that nobody here sent. */
  | 'Killed'
  | 'OutOfMemory'
  | 'DiskQuotaExceeded'
  /** It was asked to stop, and has. */
  | 'Stopped'
  /** No renewal permitted it any more (DESIGN §8). */
  | 'Fenced'
  /** It could not be started; the message says at which step and why. */
  | 'StartFailed'
  | 'CommandNotFound'
  | 'ImageNotFound'
  | 'ImagePullFailed'
  /** It is gone, and nobody was there to see how. */
  | 'ExitUnknown';

export interface RunEnd {
  readonly reason: RunEndReason;
  /** Undefined: not known, or there was nothing to exit. */
  readonly exitCode?: number;
  readonly message?: string;
  /** It was fenced, and ended so long after its permit was over: a frozen machine woke up (FenceOverrun). */
  readonly overrunMs?: number;
}

/** What an acknowledged renewal, sent at s, allows fenced jobs (DESIGN §8), on the machine's boot time. */
export interface Permit {
  /** s+D−G: nothing fenced starts from then on. */
  readonly startUntil: BootInstant;
  /** s+D−κ: what is fenced is ended for certain then, unless a later permit was given before. */
  readonly killAt: BootInstant;
  /** s+D: from then on the control plane may come to believe that nothing of it runs. */
  readonly overAt: BootInstant;
}

/** One execution of a replica that is asked for. Everything in it is expanded: a runner substitutes nothing. */
export interface Launch {
  readonly binding: NodeBinding & { readonly template: Template };
  /** The first is 1, each restart on this node one more. A runner starts each (uid, execution) at most once, ever. */
  readonly execution: number;
  /** The whole command line of a process; what replaces entry point and arguments of a container's image. */
  readonly command: readonly string[] | undefined;
  readonly args: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** The last execution of a replica that a runner knows of. */
export interface Run {
  readonly uid: string;
  readonly execution: number;
  readonly isFenced: boolean;
  readonly state:
    | { readonly at: 'Starting' }
    | { readonly at: 'Running'; readonly driverId: string; readonly address?: string }
    | { readonly at: 'Ended'; readonly end: RunEnd };
}

/** Opens where the output of an execution is kept: beside the replica, also after it has ended (docs/logs.md). */
export type OpenLog = (labels: LogLabels) => Promise<LogWriter>;

/** What a runner tells, in the order it happened, never from within a call. */
export type RunnerEvent =
  /** What is being done before it runs, so that a slow step is seen: `Pulling`, with how far it is. */
  | {
      readonly kind: 'Step';
      readonly uid: string;
      readonly execution: number;
      readonly step: string;
      readonly message?: string;
    }
  | {
      readonly kind: 'Running';
      readonly uid: string;
      readonly execution: number;
      readonly driverId: string;
      readonly address?: string;
    }
  /** Nothing of it runs any more. Told once for each execution. */
  | { readonly kind: 'Ended'; readonly uid: string; readonly execution: number; readonly end: RunEnd };

/** What an execution has used. Kept in memory and sent along; never a transaction of its own. */
export interface RunUsage {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly oomKills: number;
}

export interface MeasuredUsage extends RunUsage {
  readonly measuredAt: BootInstant;
}

/** A command that runs beside a replica, in its surroundings: an exec probe, or a person's. */
export interface ExecRequest {
  readonly command: readonly string[];
  readonly tty?: { readonly columns: number; readonly rows: number };
}

export interface ExecSession {
  /** Takes what the command is to read; `onTaken` when more may follow, so that nothing piles up. `end` closes its input. */
  write(bytes: Uint8Array, onTaken: () => void): void;
  end(): void;
  resize(columns: number, rows: number): void;
  /** Whoever reads its output cannot keep up: as little as possible of it is told before `resume`. */
  pause(): void;
  resume(): void;
  /** Ends the command. */
  kill(): void;
}

/** Where a session's output goes. `onExit` is last: undefined if the command could not be run, and why. */
export interface ExecEars {
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
  readonly onExit: (exitCode: number | undefined, message?: string) => void;
}

/**
 * Runs executions on a machine, one way of running each: processes or containers. It neither probes nor restarts; that
 * is the same for all of them and stands above (`Driver`). What it was told to run outlives the agent, and what became
 * of it is kept until it is forgotten: an agent that was started again finds both in `list`.
 */
export interface Runner {
  readonly name: 'process' | 'container';
  /** Whether it ends fenced jobs for certain when their permit is over, also if the agent is gone. */
  readonly canFence: boolean;
  /** [S5] What it has is not known before this resolves: what is not in `list` may run. Undefined: it is known. */
  readonly awaiting?: Promise<void> | undefined;
  attach(onEvent: (event: RunnerEvent) => void): void;
  list(): Iterable<Run>;
  start(launch: Launch): void;
  /** Asks it to end, and ends all of its tree when the grace is over. Ended follows, also for what is not there. */
  stop(uid: string, graceSeconds: number): void;
  /** The replica is over: what is kept of it goes, but for its logs, which go as their retention says. */
  forget(uid: string): void;
  permit(permit: Permit): void;
  exec(uid: string, request: ExecRequest, ears: ExecEars): ExecSession;
  usage(uid: string): MeasuredUsage | undefined;
}
