import type { LogLabels } from '../../model/log-record.js';
import type { RunEnd } from '../runner.js';

/** How a process is known again: the kernel never gives a pid and a start time twice between two boots. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pid: number;
  /** Field 22 of /proc/PID/stat, in ticks since boot. */
  readonly startTicks: number;
}

export interface RunLimits {
  readonly memoryBytes?: number;
  /** Thousandths of a core: its weight among others. */
  readonly cpuMillis?: number;
}

/** What is known of a run also after the supervisor that started it is gone. */
export interface RunFacts {
  readonly uid: string;
  /** The first is 1, each restart one more. */
  readonly execution: number;
  /** It may run only while permitted, and never without its supervisor (DESIGN §8). */
  readonly isFenced: boolean;
  /** How much its scratch directory may hold. */
  readonly scratchBytes?: number;
  readonly labels: LogLabels;
}

/** One execution as it is asked for. */
export interface RunSpec extends RunFacts {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its scratch directory if left out. */
  readonly workingDirectory?: string;
  readonly limits: RunLimits;
  /** Undefined: the supervisor's own. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** How the last process of a run ended. Undefined: nobody saw it. */
export interface RunExit {
  readonly exitCode?: number;
  readonly signal?: string;
  /** How many of its processes the kernel ended for want of memory. */
  readonly oomKills?: number;
  /** What was made for the job failed before the job began, and this is why. */
  readonly startProblem?: string;
}

/** A run on the machine, behind its gate or past it. */
export interface RunHandle {
  /** Lets the job begin. Called once, after `onGated`. */
  open(): void;
  /** Asks its processes to end. False: there is none to ask yet. */
  terminate(): boolean;
  /** Ends every process of it, those in sessions of their own too. `onExit` follows once none is left. */
  kill(): void;
}

export interface GateEars {
  /** Everything is in place but the job, which waits at the gate. It goes if the supervisor dies now. */
  onGated(identity: ProcessIdentity): void;
  /** Nothing of it runs any more. */
  onExit(exit: RunExit): void;
  /** Its scratch directory holds more than it may. Told until it has ended. */
  onScratchFull(): void;
}

/**
 * What a supervisor needs of a machine. A job is started in two steps, so that no job ever runs that is not written down:
 * `prepare` makes everything but the job, `open` lets it begin. What is prepared and not opened ends with the supervisor.
 */
export interface Machine {
  /** Whether the kernel ends fenced runs, whole, when their supervisor dies. */
  readonly canFence: boolean;
  /** Gives what became of it instead, if it cannot be started. */
  prepare(spec: RunSpec, ears: GateEars): RunHandle | RunEnd;
  /** A run of an earlier supervisor. Undefined: nothing of it is there. */
  adopt(facts: RunFacts, identity: ProcessIdentity, ears: Omit<GateEars, 'onGated'>): RunHandle | undefined;
  /** What is kept of a replica goes: its scratch directory. */
  forget(uid: string): void;
}

/** Where runs are written down. */
export interface RunJournal {
  /** `onDurable`: it will be there after a crash of the machine. With a message if it will not. */
  append(entry: JournalEntry, onDurable?: (problem?: string) => void): void;
}

export type JournalEntry =
  | { readonly kind: 'opened'; readonly facts: RunFacts; readonly identity: ProcessIdentity }
  | { readonly kind: 'ended'; readonly facts: RunFacts; readonly end: RunEnd }
  | { readonly kind: 'forgotten'; readonly uid: string };

/** The last that was written down of a replica. */
export type PastRun = Exclude<JournalEntry, { readonly kind: 'forgotten' }>;
