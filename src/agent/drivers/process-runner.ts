import type { Env } from '../../env/env.js';
import { cgroupName } from '../process/cgroup-name.js';
import { Cgroups } from '../process/cgroups.js';
import { execBeside } from '../process/exec-beside.js';
import { execLine, type Isolation, wrapperEnvironment } from '../process/launch-line.js';
import { groupOf } from '../process/process-machine.js';
import { markedWith } from '../process/process-tree.js';
import { RunFiles } from '../process/run-files.js';
import type {
  ExecEars,
  ExecRequest,
  ExecSession,
  Launch,
  MeasuredUsage,
  Permit,
  Run,
  Runner,
  RunnerEvent,
} from '../runner.js';
import { versionThatIsolates, type Welcome } from '../supervisor/protocol.js';
import { RunMirror } from '../supervisor/run-mirror.js';
import { runSpecOf, type UserOf } from '../supervisor/run-spec.js';
import { SupervisorLink } from '../supervisor/supervisor-link.js';

export interface ProcessRunnerParts {
  /** The agent's directory. */
  readonly dir: string;
  /** The name of this node, which logs carry. */
  readonly node: string;
  /** The file that a supervisor runs, and what it is told besides the directory. */
  readonly program: string;
  readonly words?: readonly string[];
  /** Undefined: jobs run as whoever the agent runs as. */
  readonly userOf?: UserOf;
  readonly env: Env;
  readonly onProblem: (message: string) => void;
  /** What runs here is not known any more: this life of the agent is over. The next one registers without what was lost. */
  readonly onJournalLost: (message: string) => void;
}

/** The processes of this machine, through its supervisor: what that holds, mirrored, and what it was asked. */
export class ProcessRunner implements Runner {
  readonly name = 'process';
  readonly #mirror = new RunMirror((message) => this.#link.say(message));
  readonly #link: SupervisorLink;
  readonly #files: RunFiles;
  readonly #cgroups: Cgroups;
  // Commands that run beside jobs: sessions and probes.
  readonly #beside = new Set<ExecSession>();
  #facts: Welcome | undefined;

  private constructor(private readonly parts: ProcessRunnerParts) {
    const { dir, program, words = [], env, onProblem } = parts;
    this.#files = new RunFiles(dir);
    this.#link = new SupervisorLink({
      ...{ dir, program, words, env, onProblem },
      onWelcome: (welcome) => this.#welcomed(welcome),
      onEvent: (event) => this.#mirror.happened(event),
      onSilent: (message) => {
        onProblem(message);
        this.#mirror.awaits('AwaitingSupervisor', message);
      },
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
  get unenforced(): readonly ('memory' | 'cpu' | 'pids')[] {
    return this.#facts?.unenforced ?? [];
  }

  /** Whether jobs see no processes but their own. */
  get hasNamespaces(): boolean {
    return this.#isolation.kind === 'Namespace';
  }

  /** What an earlier version has left here that keeps jobs less apart than this one does, for people. */
  get lessApart(): string | undefined {
    if ((this.#facts?.version ?? 0) < versionThatIsolates)
      return 'the supervisor was started by an earlier version, which isolates jobs less';
    const live = this.#mirror.list().filter(({ state }) => state.at !== 'Ended');
    const asAgent = live.filter(({ uid }) => this.#files.isOfAgent(uid)).length;
    if (this.parts.userOf === undefined || asAgent === 0) return undefined;
    return `${asAgent} of the jobs here run as the user of the agent, because an earlier version started them`;
  }

  get supervisorPid(): number | undefined {
    return this.#facts?.pid;
  }

  attach(onEvent: (event: RunnerEvent) => void): void {
    this.#mirror.attach(onEvent);
  }

  list(): Iterable<Run> {
    return this.#mirror.list();
  }

  start(launch: Launch): void {
    this.#mirror.start(runSpecOf(launch, this.parts));
  }

  stop(uid: string, graceSeconds: number): void {
    this.#mirror.stop(uid, graceSeconds);
  }

  forget(uid: string): void {
    this.#mirror.forget(uid);
  }

  permit(permit: Permit): void {
    this.#mirror.permit(permit);
  }

  exec(uid: string, request: ExecRequest, ears: ExecEars): ExecSession {
    const run = this.#mirror.get(uid);
    if (run?.state.at !== 'Running') {
      this.parts.env.after(0, () => ears.onExit(undefined, 'it does not run'));
      return deadSession;
    }
    const id = this.parts.env.uuid();
    const group = this.#cgroups.find(groupOf(run))?.within(`beside-${id}`);
    const target = {
      ...{ pid: Number(run.state.driverId), user: this.#files.userOf(uid) },
      environmentFile: this.#files.environment(run),
      cgroupFiles: group?.joinFiles ?? [],
    };
    let session: ExecSession;
    try {
      session = execBeside(execLine(target, this.#isolation, request.command), request, ears, {
        ...{ directory: this.#files.scratch(uid), env: this.parts.env },
        variables: { ...wrapperEnvironment(), [besideMark]: id },
        pids: () => group?.pids() ?? markedWith(besideMark, id),
        onOver: () => {
          this.#beside.delete(session);
          group?.remove();
        },
      });
    } catch (error) {
      // Its words are more than the kernel takes, or no descriptor is left.
      group?.remove();
      const message = error instanceof Error ? error.message : String(error);
      this.parts.env.after(0, () => ears.onExit(undefined, message));
      return deadSession;
    }
    this.#beside.add(session);
    return session;
  }

  usage(uid: string): MeasuredUsage | undefined {
    const run = this.#mirror.get(uid);
    const used = run?.state.at === 'Running' ? this.#cgroups.find(groupOf(run))?.usage() : undefined;
    return used && { ...used, measuredAt: this.parts.env.clock.boot() };
  }

  /** See `JournalFile`. Undefined: its supervisor is of a version that does not say. */
  get journal(): string | undefined {
    return this.#facts?.journal;
  }

  #welcomed(welcome: Welcome): void {
    const { journal, damage } = welcome;
    if (damage !== undefined) this.parts.onProblem(damage);
    // [S5] What this one does not speak of may still run: nobody is told that it has ended.
    if (this.#facts?.journal !== undefined && this.#facts.journal !== journal)
      return this.parts.onJournalLost('its supervisor has another journal than the one before');
    this.#facts = welcome;
    this.#mirror.welcomed(welcome);
  }

  /** Leaves what runs to the supervisor, but for commands beside it: nobody hears them any more. */
  async close(): Promise<void> {
    this.#link.close();
    await this.#endBeside();
  }

  /** Ends all jobs and the supervisor: a clean stop of the machine's agent. */
  async end(graceSeconds: number): Promise<void> {
    await Promise.all([this.#endBeside(), this.#link.end(graceSeconds)]);
  }

  /** Within a second: what cannot be ended is given up. */
  async #endBeside(): Promise<void> {
    for (const session of this.#beside) session.kill();
    while (this.#beside.size > 0) await this.parts.env.sleep(besideLookMs);
  }

  get #isolation(): Isolation {
    const kind = this.#facts?.isolation;
    if (kind === undefined || kind === 'Group') return { kind: 'Group' };
    return { kind: 'Namespace', needsUserNamespace: kind === 'UserNamespace' };
  }
}

// How the processes of a command are found where the machine has no control groups for us.
const besideMark = 'BERTH_BESIDE';
const besideLookMs = 25;

const deadSession: ExecSession = {
  write: () => undefined,
  end: () => undefined,
  resize: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  kill: () => undefined,
};
