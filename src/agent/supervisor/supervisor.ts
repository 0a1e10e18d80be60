import type { Env, Timer } from '../../env/env.js';
import type { Permit, Run, RunEnd, RunnerEvent } from '../runner.js';
import { FenceWatch } from './fence-watch.js';
import type {
  Machine,
  PastRun,
  ProcessIdentity,
  RunExit,
  RunFacts,
  RunHandle,
  RunJournal,
  RunSpec,
} from './machine.js';
import { type EndedBy, runEndOf } from './run-end.js';

interface Entry {
  readonly facts: RunFacts;
  handle: RunHandle | undefined;
  /** Undefined: it waits at its gate. */
  identity: ProcessIdentity | undefined;
  end: RunEnd | undefined;
  endedBy: EndedBy;
  /** Whoever started it is gone: how it ends will not be known. */
  readonly isAdopted: boolean;
  timer: Timer | undefined;
}

export interface SupervisorParts {
  readonly machine: Machine;
  readonly journal: RunJournal;
  readonly env: Env;
  /** May be called from within a call. */
  readonly onEvent: (event: RunnerEvent) => void;
}

// Until there is somebody to ask: the job has been let in and has not begun.
const askAgainMs = 50;
// After a kill that has not ended it yet.
const killAgainMs = 2_000;

/**
 * Parent of the jobs of one machine: starts each execution once, keeps how it ended until that is forgotten, and ends
 * what is fenced when no renewal permits it. It holds one run of each replica, the last.
 *
 * Invariant: no job runs that is not written down as such. So a successor that reads the journal knows all there is.
 */
export class Supervisor {
  readonly #runs = new Map<string, Entry>();
  readonly #fence: FenceWatch;
  readonly #whenEmpty: (() => void)[] = [];
  #isEnding = false;

  constructor(
    private readonly parts: SupervisorParts,
    past: Iterable<PastRun> = [],
  ) {
    this.#fence = new FenceWatch({
      env: parts.env,
      isFencing: () => this.#fenced().length > 0,
      kill: () => this.#killFenced(),
    });
    for (const run of past) this.#adopt(run);
  }

  list(): Run[] {
    return [...this.#runs.values()].map(shown);
  }

  /** How many have not ended. */
  get liveCount(): number {
    let live = 0;
    for (const { end } of this.#runs.values()) if (end === undefined) live += 1;
    return live;
  }

  start(spec: RunSpec): void {
    const { machine } = this.parts;
    const { uid, execution, isFenced } = spec;
    // An agent starts again what was stopped with its supervisor, and asks the successor for it.
    if (this.#isEnding) return;
    const last = this.#runs.get(uid);
    // Each execution at most once, ever; and one at a time.
    if (last !== undefined && (last.facts.execution >= execution || last.end === undefined)) return;
    const facts = factsOf(spec);
    const entry: Entry = {
      ...{ facts, handle: undefined, identity: undefined, end: undefined, endedBy: undefined },
      ...{ isAdopted: false, timer: undefined },
    };
    this.#runs.set(uid, entry);
    if (isFenced && !machine.canFence)
      return this.#ended(entry, {
        reason: 'StartFailed',
        message: 'FenceUnsupported: this machine cannot fence it',
      });
    if (isFenced && !this.#fence.mayStart()) return this.#ended(entry, notPermitted);
    const made = machine.prepare(spec, {
      onGated: (identity) => this.#gated(entry, identity),
      onExit: (exit) => this.#exited(entry, exit),
      onScratchFull: () => this.#scratchFull(entry),
    });
    if ('reason' in made) return this.#ended(entry, made);
    entry.handle = made;
  }

  stop(uid: string, graceSeconds: number): void {
    const entry = this.#runs.get(uid);
    if (entry === undefined)
      return this.parts.onEvent({
        ...{
          kind: 'Ended',
          uid,
          execution: 0,
          end: { reason: 'Stopped', message: 'nothing of it runs here' },
        },
      });
    if (entry.end !== undefined) return this.#tellEnd(entry, entry.end);
    entry.endedBy ??= 'Stopped';
    this.#ask(entry, graceSeconds * 1_000);
  }

  forget(uid: string): void {
    if (this.#runs.get(uid)?.end === undefined) return;
    this.#runs.delete(uid);
    this.parts.journal.append({ kind: 'forgotten', uid });
    this.parts.machine.forget(uid);
  }

  permit(permit: Permit): void {
    this.#fence.permit(permit);
  }

  /** Ends everything, and resolves when it has ended. Nothing is started any more. */
  async endAll(graceSeconds: number): Promise<void> {
    this.#isEnding = true;
    for (const [uid, { end }] of this.#runs) if (end === undefined) this.stop(uid, graceSeconds);
    if (this.liveCount > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    this.#fence.close();
  }

  /** A run that an earlier supervisor wrote down. */
  #adopt(past: PastRun): void {
    const { facts } = past;
    const entry: Entry = {
      ...{ facts, handle: undefined, identity: undefined, end: undefined, endedBy: undefined },
      ...{ isAdopted: true, timer: undefined },
    };
    this.#runs.set(facts.uid, entry);
    if (past.kind === 'ended') {
      entry.end = past.end;
      return;
    }
    entry.identity = past.identity;
    entry.handle = this.parts.machine.adopt(facts, past.identity, {
      onExit: () => this.#exited(entry, undefined),
      onScratchFull: () => this.#scratchFull(entry),
    });
    if (entry.handle === undefined) return this.#exited(entry, undefined);
    // [S5] It was to end with the supervisor that started it. If it still ends, nothing of it may be reported gone before.
    if (facts.isFenced) this.#kill(entry);
  }

  #gated(entry: Entry, identity: ProcessIdentity): void {
    if (entry.end !== undefined || entry.endedBy !== undefined) return;
    this.parts.journal.append({ kind: 'opened', facts: entry.facts, identity }, (problem) =>
      this.#open(entry, identity, problem),
    );
  }

  #open(entry: Entry, identity: ProcessIdentity, problem: string | undefined): void {
    const { uid, execution, isFenced } = entry.facts;
    // It ended, or was stopped, at the gate.
    if (entry.end !== undefined || entry.endedBy !== undefined) return;
    const refusal: RunEnd | undefined =
      problem !== undefined
        ? { reason: 'StartFailed', message: `it could not be written down: ${problem}` }
        : isFenced && !this.#fence.mayStart()
          ? notPermitted
          : undefined;
    if (refusal !== undefined) {
      const { handle } = entry;
      this.#ended(entry, refusal);
      handle?.kill();
      return;
    }
    entry.identity = identity;
    entry.handle?.open();
    this.parts.onEvent({ kind: 'Running', uid, execution, driverId: String(identity.pid) });
    if (isFenced) this.#fence.watch();
  }

  /** Asks it to end, and ends it when the time is over. At its gate there is nobody to ask. */
  #ask(entry: Entry, leftMs: number): void {
    entry.timer?.cancel();
    if (entry.identity === undefined || leftMs <= 0) return this.#kill(entry);
    const isAsked = entry.handle?.terminate() === true;
    const waitMs = isAsked ? leftMs : Math.min(leftMs, askAgainMs);
    entry.timer = this.parts.env.after(waitMs, () => this.#ask(entry, leftMs - waitMs));
  }

  #kill(entry: Entry): void {
    entry.timer?.cancel();
    entry.handle?.kill();
    entry.timer = this.parts.env.after(killAgainMs, () => this.#kill(entry));
  }

  #scratchFull(entry: Entry): void {
    if (entry.end !== undefined || entry.endedBy !== undefined) return;
    entry.endedBy = 'DiskQuotaExceeded';
    this.#kill(entry);
  }

  #fenced(): Entry[] {
    return [...this.#runs.values()].filter(({ facts, end }) => facts.isFenced && end === undefined);
  }

  #killFenced(): void {
    for (const entry of this.#fenced()) {
      // What was being stopped and is killed for its permit was not stopped in time: the fence ended it.
      entry.endedBy = 'Fenced';
      this.#kill(entry);
    }
  }

  #exited(entry: Entry, exit: RunExit | undefined): void {
    const { facts, isAdopted, endedBy } = entry;
    if (isAdopted && facts.isFenced && endedBy === undefined)
      return this.#ended(entry, {
        ...{ reason: 'ExitUnknown', message: 'its supervisor ended, and what is fenced ends with it' },
      });
    this.#ended(entry, runEndOf(exit, endedBy, endedBy === 'Fenced' ? this.#fence.overrunMs() : 0));
  }

  #ended(entry: Entry, end: RunEnd): void {
    entry.timer?.cancel();
    if (entry.end !== undefined) return;
    entry.end = end;
    entry.handle = undefined;
    this.parts.journal.append({ kind: 'ended', facts: entry.facts, end });
    this.#tellEnd(entry, end);
    if (this.liveCount === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #tellEnd({ facts: { uid, execution } }: Entry, end: RunEnd): void {
    this.parts.onEvent({ kind: 'Ended', uid, execution, end });
  }
}

const notPermitted: RunEnd = {
  reason: 'StartFailed',
  message: 'no renewal permits to start it: its fence would be over too soon',
};

const factsOf = ({ uid, execution, isFenced, scratchBytes, labels }: RunSpec): RunFacts => ({
  ...{ uid, execution, isFenced, labels },
  ...(scratchBytes !== undefined && { scratchBytes }),
});

function shown({ facts: { uid, execution, isFenced }, identity, end }: Entry): Run {
  const state: Run['state'] =
    end !== undefined
      ? { at: 'Ended', end }
      : identity === undefined
        ? { at: 'Starting' }
        : { at: 'Running', driverId: String(identity.pid) };
  return { uid, execution, isFenced, state };
}
