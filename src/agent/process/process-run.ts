import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { GateEars, ProcessIdentity, RunExit, RunHandle, RunSpec } from '../supervisor/machine.js';
import type { Cgroup } from './cgroups.js';
import { type Isolation, wrapperEnvironment } from './launch-line.js';
import { openForJob, outputNames } from './output-pipes.js';
import { childrenOf, statOf } from './proc.js';
import { ProcessTree } from './process-tree.js';
import type { RunOutput } from './run-output.js';

export interface ProcessRunParts {
  readonly spec: RunSpec;
  readonly line: readonly [string, ...string[]];
  readonly isolation: Isolation;
  /** Where it starts; what starts it goes on to its working directory, as the job's user. */
  readonly scratch: string;
  /** Where its pipes are. */
  readonly filesDir: string;
  readonly bootId: string;
  readonly cgroup: Cgroup | undefined;
  readonly output: RunOutput;
}

const signalOf = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** One run that this process started: its first process, its gate, and how it ends. */
export class ProcessRun implements RunHandle {
  readonly #child: ChildProcess;
  readonly #gate: Duplex | undefined;
  #identity: ProcessIdentity | undefined;
  #tree: ProcessTree | undefined;
  #isKilled = false;

  constructor(
    private readonly parts: ProcessRunParts,
    private readonly ears: Pick<GateEars, 'onGated' | 'onExit'>,
  ) {
    const { line, scratch, filesDir, spec } = parts;
    const outputs: number[] = [];
    const [program, ...words] = line;
    try {
      for (const name of outputNames) outputs.push(openForJob(join(filesDir, name), spec.user));
      this.#child = spawn(program, words, {
        ...{ cwd: scratch, detached: true, env: wrapperEnvironment() },
        stdio: ['ignore', ...outputs, 'pipe'],
      });
    } finally {
      for (const descriptor of outputs) closeSync(descriptor);
    }
    this.#child.once('error', (error) => this.#failed(error.message));
    this.#child.once('exit', (code, signal) => void this.#exited(code, signal));
    // A parsed boundary: what 'pipe' gives is a socket. Where no descriptor is left there is not even a list, and `error` follows.
    const stdio = this.#child.stdio as ChildProcess['stdio'] | undefined;
    this.#gate = stdio?.[3] as Duplex | undefined;
    this.#gate?.on('error', () => undefined);
    this.#gate?.once('data', () => this.#gated());
  }

  open(): void {
    this.#gate?.end('go\n');
    this.parts.output.keep();
  }

  terminate(): boolean {
    return this.#tree?.terminate() === true;
  }

  kill(): void {
    this.#isKilled = true;
    if (this.#tree !== undefined) this.#tree.kill();
    // At the gate or before it: what was made so far ends when its words do not come.
    else this.#gate?.destroy();
  }

  #gated(): void {
    const { isolation, cgroup, spec, bootId } = this.parts;
    const { pid: own } = this.#child;
    const pid = isolation.kind === 'Group' ? own : own === undefined ? undefined : childrenOf(own)[0];
    const startTicks = pid === undefined ? undefined : statOf(pid)?.startTicks;
    if (pid === undefined || startTicks === undefined) return;
    this.#identity = { bootId, pid, startTicks };
    this.#tree = new ProcessTree(this.#identity, isolation, spec, cgroup);
    this.ears.onGated(this.#identity);
  }

  #failed(message: string): void {
    // Nothing was started: no exit follows.
    if (this.#child.pid === undefined) void this.#end({ startProblem: message });
  }

  async #exited(code: number | null, signal: string | null): Promise<void> {
    const { isolation, output } = this.parts;
    // Those that left its group would live on.
    if (isolation.kind === 'Group') this.#tree?.kill();
    if (this.#identity === undefined) {
      const words = output.lastWords();
      const startProblem = words === '' ? `its first process ended with ${code ?? signal}` : words;
      return this.#end({ startProblem });
    }
    // `unshare` does not pass this signal on.
    if (this.#isKilled) return this.#end({ exitCode: 137, signal: 'SIGKILL' });
    // The shell that waits for a job says how a signal ended it as shells do.
    const name = signal ?? (code !== null && code > 128 ? signalOf.get(code - 128) : undefined);
    const number = signal === null ? undefined : constants.signals[signal as NodeJS.Signals];
    const exitCode = code ?? (number === undefined ? undefined : 128 + number);
    await this.#end({
      ...(exitCode !== undefined && { exitCode }),
      ...(name !== undefined && { signal: name }),
    });
  }

  async #end(exit: RunExit): Promise<void> {
    const { cgroup, output } = this.parts;
    const oomKills = cgroup?.oomKills() ?? 0;
    await output.close();
    cgroup?.remove();
    this.#gate?.destroy();
    this.ears.onExit({ ...exit, ...(oomKills > 0 && { oomKills }) });
  }
}
