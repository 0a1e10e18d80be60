import type { Env } from '../../env/env.js';
import { amountOf } from '../../model/amount.js';
import { cgroupName } from '../process/cgroup-name.js';
import { Cgroups } from '../process/cgroups.js';
import { execBeside } from '../process/exec-beside.js';
import { execLine, type Isolation } from '../process/launch-line.js';
import { groupOf } from '../process/process-machine.js';
import { RunFiles } from '../process/run-files.js';
import type {
  ExecEars,
  ExecRequest,
  ExecSession,
  Launch,
  Permit,
  Run,
  Runner,
  RunnerEvent,
  RunUsage,
} from '../runner.js';
import type { RunLimits, RunSpec } from '../supervisor/machine.js';
import { type Welcome, wirePermit } from '../supervisor/protocol.js';
import { SupervisorLink } from '../supervisor/supervisor-link.js';

export interface ProcessRunnerParts {
  /** The agent's directory. */
  readonly dir: string;
  /** The name of this node, which logs carry. */
  readonly node: string;
  /** The file that a supervisor runs, and what it is told besides the directory. */
  readonly program: string;
  readonly words?: readonly string[];
  /** Who jobs run as. Undefined: who the agent runs as. */
  readonly user?: RunSpec['user'];
  readonly env: Env;
  readonly onProblem: (message: string) => void;
}

interface Mirrored {
  run: Run;
  /** While it has not been seen to run: it is asked for again if the supervisor dies before it has heard. */
  asked: RunSpec | undefined;
  /** It was asked to stop, and is asked again of a successor. */
  graceSeconds: number | undefined;
}

/** The processes of this machine, through its supervisor: what that holds, mirrored, and what it was asked. */
export class ProcessRunner implements Runner {
  readonly name = 'process';
  readonly #runs = new Map<string, Mirrored>();
  readonly #link: SupervisorLink;
  readonly #files: RunFiles;
  readonly #cgroups: Cgroups;
  #onEvent: (event: RunnerEvent) => void = () => undefined;
  #permit: Permit | undefined;
  #facts: Welcome | undefined;

  private constructor(private readonly parts: ProcessRunnerParts) {
    const { dir, program, words = [], env, onProblem } = parts;
    this.#files = new RunFiles(dir);
    this.#link = new SupervisorLink({
      ...{ dir, program, words, env, onProblem },
      onWelcome: (welcome) => this.#welcomed(welcome),
      onEvent: (event) => this.#happened(event),
    });
    this.#cgroups = Cgroups.open(cgroupName(dir));
  }

  /** Finds the supervisor of the directory, or starts it. */
  static async open(parts: ProcessRunnerParts): Promise<ProcessRunner> {
    const runner = new ProcessRunner(parts);
    await runner.#link.open();
    return runner;
  }

  get canFence(): boolean {
    return this.#facts?.canFence === true;
  }

  /** Limits that this machine does not enforce: the node says so (LimitsNotEnforced). */
  get unenforced(): readonly string[] {
    return this.#facts?.unenforced ?? [];
  }

  get supervisorPid(): number | undefined {
    return this.#facts?.pid;
  }

  attach(onEvent: (event: RunnerEvent) => void): void {
    this.#onEvent = onEvent;
  }

  list(): Iterable<Run> {
    return [...this.#runs.values()].map(({ run }) => run);
  }

  start(launch: Launch): void {
    const spec = specOf(launch, this.parts);
    const { uid, execution, isFenced } = spec;
    const last = this.#runs.get(uid);
    if (last !== undefined && last.run.execution >= execution) return;
    const run: Run = { uid, execution, isFenced, state: { at: 'Starting' } };
    this.#runs.set(uid, { run, asked: spec, graceSeconds: undefined });
    this.#link.say({ kind: 'start', spec });
  }

  stop(uid: string, graceSeconds: number): void {
    const mirrored = this.#runs.get(uid);
    if (mirrored !== undefined) mirrored.graceSeconds = graceSeconds;
    this.#link.say({ kind: 'stop', uid, graceSeconds });
  }

  forget(uid: string): void {
    this.#runs.delete(uid);
    this.#link.say({ kind: 'forget', uid });
  }

  permit(permit: Permit): void {
    this.#permit = permit;
    this.#link.say({ kind: 'permit', permit: wirePermit(permit) });
  }

  exec(uid: string, request: ExecRequest, ears: ExecEars): ExecSession {
    const run = this.#runs.get(uid)?.run;
    if (run?.state.at !== 'Running') {
      this.parts.env.after(0, () => ears.onExit(undefined, 'it does not run'));
      return deadSession;
    }
    const target = {
      ...{ pid: Number(run.state.driverId), user: this.parts.user },
      environmentFile: this.#files.environment(run),
    };
    const line = execLine(target, this.#isolation, request.command);
    return execBeside(line, request, ears, this.#files.scratch(uid));
  }

  usage(uid: string): RunUsage | undefined {
    const run = this.#runs.get(uid)?.run;
    return run?.state.at === 'Running' ? this.#cgroups.find(groupOf(run))?.usage() : undefined;
  }

  /** Leaves what runs to the supervisor. */
  close(): void {
    this.#link.close();
  }

  /** Ends all jobs and the supervisor: a clean stop of the machine's agent. */
  end(graceSeconds: number): Promise<void> {
    return this.#link.end(graceSeconds);
  }

  get #isolation(): Isolation {
    const kind = this.#facts?.isolation;
    if (kind === undefined || kind === 'Group') return { kind: 'Group' };
    return { kind: 'Namespace', needsUserNamespace: kind === 'UserNamespace' };
  }

  /** A supervisor says what there is: ours as before, or a successor that knows what the journal said. */
  #welcomed(welcome: Welcome): void {
    this.#facts = welcome;
    const there = new Map(welcome.runs.map((run) => [run.uid, run]));
    if (this.#permit !== undefined) this.#link.say({ kind: 'permit', permit: wirePermit(this.#permit) });
    for (const [uid, mirrored] of this.#runs) {
      const run = there.get(uid);
      const isKnown = run !== undefined && run.execution >= mirrored.run.execution;
      if (!isKnown && mirrored.asked !== undefined) this.#link.say({ kind: 'start', spec: mirrored.asked });
      else if (!isKnown) this.#happened(endedUnseen(mirrored.run));
      else if (run.state.at === 'Running' && mirrored.run.state.at === 'Starting')
        this.#happened({ kind: 'Running', ...keyOf(run), driverId: run.state.driverId });
      else if (run.state.at === 'Ended' && mirrored.run.state.at !== 'Ended')
        this.#happened({ kind: 'Ended', ...keyOf(run), end: run.state.end });
      if (mirrored.graceSeconds !== undefined && mirrored.run.state.at !== 'Ended')
        this.#link.say({ kind: 'stop', uid, graceSeconds: mirrored.graceSeconds });
    }
    for (const run of welcome.runs)
      if (!this.#runs.has(run.uid))
        this.#runs.set(run.uid, { run, asked: undefined, graceSeconds: undefined });
  }

  #happened(event: RunnerEvent): void {
    const mirrored = this.#runs.get(event.uid);
    if (mirrored !== undefined && mirrored.run.execution === event.execution) {
      const { run } = mirrored;
      if (event.kind === 'Running') {
        mirrored.asked = undefined;
        mirrored.run = { ...run, state: { at: 'Running', driverId: event.driverId } };
      }
      if (event.kind === 'Ended') {
        mirrored.asked = undefined;
        mirrored.run = { ...run, state: { at: 'Ended', end: event.end } };
      }
    }
    this.#onEvent(event);
  }
}

const keyOf = ({ uid, execution }: Run): Pick<Run, 'uid' | 'execution'> => ({ uid, execution });

const endedUnseen = (run: Run): RunnerEvent => ({
  kind: 'Ended',
  ...keyOf(run),
  end: { reason: 'ExitUnknown', message: 'its supervisor is gone and has left no word of it' },
});

const deadSession: ExecSession = {
  write: () => undefined,
  end: () => undefined,
  resize: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  kill: () => undefined,
};

function specOf({ binding, execution, command, env }: Launch, { node, user }: ProcessRunnerParts): RunSpec {
  const { replica, workload, slot, isFenced, template } = binding;
  const { uid, tenant, name } = replica;
  const workingDirectory = template.run.process?.workingDirectory;
  return {
    ...{ uid, execution, isFenced, command: command ?? [], env },
    labels: { tenant, workload, replica: name, uid, slot, execution, node },
    limits: limitsOf(template.resources ?? {}),
    ...(workingDirectory !== undefined && { workingDirectory }),
    ...(user !== undefined && { user }),
  };
}

function limitsOf(resources: Parameters<typeof amountOf>[0]): RunLimits {
  const { cpuMilli, memoryBytes } = amountOf(resources);
  return {
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(cpuMilli !== undefined && { cpuMillis: cpuMilli }),
  };
}
