import type {
  GateEars,
  JournalEntry,
  Machine,
  ProcessIdentity,
  RunExit,
  RunFacts,
  RunHandle,
  RunJournal,
  RunSpec,
} from './machine.js';

export interface FakeProcess {
  readonly identity: ProcessIdentity;
  readonly isFenced: boolean;
  isOpen: boolean;
  isTerminated: boolean;
  onExit: (exit: RunExit) => void;
}

/** A machine whose processes do what a test says. It outlives its supervisors. */
export class FakeMachine implements Machine {
  canFence = true;
  readonly processes = new Map<string, FakeProcess>();
  /** What was killed, in order. */
  readonly killed: string[] = [];
  readonly forgotten: string[] = [];
  #pids = 100;
  readonly #gates = new Map<string, () => void>();

  prepare({ uid, isFenced }: RunSpec, ears: GateEars): RunHandle {
    const identity = { bootId: 'boot', pid: (this.#pids += 1), startTicks: this.#pids };
    const process: FakeProcess = {
      identity,
      isFenced,
      isOpen: false,
      isTerminated: false,
      onExit: (exit) => ears.onExit(exit),
    };
    this.processes.set(uid, process);
    this.#gates.set(uid, () => ears.onGated(identity));
    return this.#handle(uid, process);
  }

  adopt(
    { uid }: RunFacts,
    identity: ProcessIdentity,
    { onExit }: Pick<GateEars, 'onExit'>,
  ): RunHandle | undefined {
    const process = this.processes.get(uid);
    if (process?.identity.pid !== identity.pid) return undefined;
    process.onExit = (exit) => onExit(exit);
    return this.#handle(uid, process);
  }

  forget(uid: string): void {
    this.forgotten.push(uid);
  }

  /** It has come to its gate. */
  gate(uid: string): void {
    this.#gates.get(uid)?.();
  }

  exit(uid: string, exit: RunExit): void {
    const process = this.processes.get(uid);
    this.processes.delete(uid);
    process?.onExit(exit);
  }

  /** The supervisor dies: the kernel ends what is fenced and what waits at its gate. */
  supervisorDies(): void {
    for (const [uid, { isFenced, isOpen }] of this.processes)
      if (isFenced || !isOpen) this.processes.delete(uid);
  }

  #handle(uid: string, process: FakeProcess): RunHandle {
    return {
      open: () => (process.isOpen = true),
      terminate: () => (process.isTerminated = true),
      kill: () => {
        if (this.processes.get(uid) !== process) return;
        this.killed.push(uid);
        this.exit(uid, { exitCode: 137, signal: 'SIGKILL' });
      },
    };
  }
}

/** Keeps what is written; flushes when a test says so, or at once. */
export class FakeJournal implements RunJournal {
  readonly entries: JournalEntry[] = [];
  isSlow = false;
  #waiting: ((problem?: string) => void)[] = [];

  append(entry: JournalEntry, onDurable?: (problem?: string) => void): void {
    this.entries.push(entry);
    if (onDurable === undefined) return;
    if (this.isSlow) this.#waiting.push(onDurable);
    else onDurable();
  }

  flush(problem?: string): void {
    for (const onDurable of this.#waiting.splice(0)) onDurable(problem);
  }
}
