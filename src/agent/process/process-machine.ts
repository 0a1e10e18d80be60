import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../../env/env.js';
import type { OpenLog, RunEnd } from '../runner.js';
import type {
  GateEars,
  Machine,
  ProcessIdentity,
  RunExit,
  RunFacts,
  RunHandle,
  RunSpec,
} from '../supervisor/machine.js';
import { AdoptedRun } from './adopted-run.js';
import type { Cgroups } from './cgroups.js';
import { commandProblem } from './find-command.js';
import { type Isolation, jobPath, launchLine } from './launch-line.js';
import { outputNames, PipePool } from './output-pipes.js';
import { bootId } from './proc.js';
import { ProcessRun } from './process-run.js';
import { markName, markOf, ProcessTree } from './process-tree.js';
import { RunFiles } from './run-files.js';
import { RunOutput } from './run-output.js';
import { ScratchWatch } from './scratch-watch.js';

export interface ProcessMachineParts {
  /** The agent's directory. */
  readonly dir: string;
  readonly isolation: Isolation;
  readonly cgroups: Cgroups;
  readonly openLog: OpenLog;
  readonly env: Env;
}

/** Runs jobs as processes of this machine, each in a pid namespace where the machine allows that. */
export class ProcessMachine implements Machine {
  readonly canFence: boolean;
  readonly #files: RunFiles;
  readonly #pipes: PipePool;
  readonly #scratches: ScratchWatch;
  readonly #bootId = bootId();

  constructor(private readonly parts: ProcessMachineParts) {
    this.canFence = parts.isolation.kind === 'Namespace';
    this.#files = new RunFiles(parts.dir);
    this.#scratches = new ScratchWatch(parts.env);
    this.#files.prepare();
    this.#pipes = new PipePool(this.#files.pipes);
  }

  prepare(spec: RunSpec, ears: GateEars): RunHandle | RunEnd {
    try {
      return this.#prepare(spec, ears);
    } catch (error) {
      return { reason: 'StartFailed', message: error instanceof Error ? error.message : String(error) };
    }
  }

  adopt(facts: RunFacts, identity: ProcessIdentity, ears: Omit<GateEars, 'onGated'>): RunHandle | undefined {
    const { isolation, cgroups, env } = this.parts;
    if (identity.bootId !== this.#bootId) return undefined;
    const cgroup = cgroups.find(groupOf(facts));
    const tree = new ProcessTree(identity, isolation, facts, cgroup);
    if (!tree.isThere()) {
      tree.kill();
      cgroup?.remove();
      return undefined;
    }
    const onExit = this.#watched(facts, ears);
    return new AdoptedRun({ tree, cgroup, output: this.#output(facts), env, onExit });
  }

  forget(uid: string): void {
    this.#files.remove(uid);
  }

  #prepare(spec: RunSpec, ears: GateEars): RunHandle | RunEnd {
    const { isolation, cgroups } = this.parts;
    const files = this.#files;
    const scratch = files.scratch(spec.uid);
    const directory = spec.workingDirectory ?? scratch;
    const env = { PATH: jobPath, HOME: scratch, ...spec.env, [markName]: markOf(spec) };
    files.make(spec, env);
    files.removeBefore(spec);
    if (!existsSync(directory))
      return { reason: 'StartFailed', message: `there is no directory ${directory} to start in` };
    const problem = commandProblem(spec.command[0] ?? '', env, directory);
    if (problem !== undefined) return problem;
    const filesDir = files.execution(spec);
    for (const name of outputNames) this.#pipes.take(join(filesDir, name));
    const cgroup = cgroups.make(groupOf(spec), spec.limits);
    const line = launchLine(spec, isolation, {
      ...{ environmentFile: files.environment(spec), cgroupFiles: cgroup?.joinFiles ?? [] },
    });
    let output: RunOutput | undefined;
    try {
      output = this.#output(spec);
      return new ProcessRun(
        { ...{ spec, line, isolation, scratch, filesDir, cgroup, output }, bootId: this.#bootId },
        { onGated: (identity) => ears.onGated(identity), onExit: this.#watched(spec, ears) },
      );
    } catch (error) {
      // Of a start that fails nothing is left: whoever may try again and again would take all descriptors there are.
      void output?.close();
      cgroup?.remove();
      this.#scratches.unwatch(scratch);
      throw error;
    }
  }

  /** Its scratch directory is looked at until it has ended. */
  #watched({ uid, scratchBytes }: RunFacts, ears: Omit<GateEars, 'onGated'>): (exit: RunExit) => void {
    if (scratchBytes === undefined) return (exit) => ears.onExit(exit);
    const directory = this.#files.scratch(uid);
    this.#scratches.watch(directory, scratchBytes, () => ears.onScratchFull());
    return (exit) => {
      this.#scratches.unwatch(directory);
      ears.onExit(exit);
    };
  }

  #output(run: RunFacts): RunOutput {
    const { openLog, env } = this.parts;
    return new RunOutput({ dir: this.#files.execution(run), labels: run.labels, openLog, env });
  }
}

/** The name of a run's control groups. */
export const groupOf = ({ uid, execution }: Pick<RunFacts, 'uid' | 'execution'>): string =>
  `${uid}-${execution}`;
