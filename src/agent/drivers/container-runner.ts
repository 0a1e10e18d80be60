import { backoffAfter } from '../../env/backoff.js';
import type { Env, Timer } from '../../env/env.js';
import type { LogLabels } from '../../model/log-record.js';
import { ContainerEngine, type ContainerFacts, type ContainerState } from '../container/container-engine.js';
import { containerEnd, killedCode, startFailure } from '../container/container-end.js';
import { containerExec } from '../container/container-exec.js';
import { containerName, containerSpec, label, type MachineLimits } from '../container/container-spec.js';
import { EngineClient, EngineError } from '../container/engine-client.js';
import { haveImage, ImageFailure } from '../container/have-image.js';
import { LogPump } from '../container/log-pump.js';
import { machineLimits } from '../container/machine-limits.js';
import { kernelSawOutOfMemory } from '../container/oom-evidence.js';
import type { KeptLogs } from '../logs/kept-logs.js';
import type {
  ExecEars,
  ExecRequest,
  ExecSession,
  Launch,
  MeasuredUsage,
  Run,
  RunEnd,
  Runner,
  RunnerEvent,
} from '../runner.js';

export interface ContainerRunnerParts {
  /** Of a Docker or Podman on this machine. */
  readonly socketPath: string;
  /** The name of this node. */
  readonly node: string;
  /** Which agent of this machine: an engine may serve several, each with containers of its own. */
  readonly agent: string;
  readonly logs: KeptLogs;
  readonly env: Env;
  readonly onProblem: (message: string) => void;
}

interface Container {
  run: Run;
  /** Undefined while there is none: its image is being pulled, or it could not be made. */
  id: string | undefined;
  readonly labels: LogLabels;
  readonly stop: AbortController;
  graceSeconds: number | undefined;
  pump: LogPump | undefined;
}

const again = { firstMs: 500, mostMs: 10_000 };
const usageEveryMs = 10_000;
const listFailuresMax = 5;
// An engine that hangs must not keep an agent from its processes.
const helloMs = 10_000;
const endLookMs = 50;
// An engine that does not end them in this time does not answer: they stay, and are found again.
const endWaitSeconds = 20;

/**
 * Containers of this machine, through its Docker or Podman. The engine is the journal: a container is made under a name of
 * its execution before it is started, and stays until it is forgotten. It keeps no fence: nothing ends a container for
 * certain when the agent is gone.
 */
export class ContainerRunner implements Runner {
  readonly name = 'container';
  readonly canFence = false;
  readonly #engine: ContainerEngine;
  readonly #limits: MachineLimits;
  readonly #containers = new Map<string, Container>();
  readonly #usage = new Map<string, MeasuredUsage>();
  readonly #removing = new Set<Promise<void>>();
  #onEvent: (event: RunnerEvent) => void = () => undefined;
  #usageTimer: Timer | undefined;
  #isClosed = false;
  #awaiting: Promise<void> | undefined;

  private constructor(private readonly parts: ContainerRunnerParts) {
    this.#engine = new ContainerEngine(new EngineClient(parts));
    this.#limits = machineLimits();
  }

  /** Finds what an earlier life of the agent has started. Fails if there is no engine at the socket. */
  static async open(parts: ContainerRunnerParts): Promise<ContainerRunner> {
    const runner = new ContainerRunner(parts);
    await runner.#begun();
    return runner;
  }

  /** The same where there was an engine before: it is asked for as long as it takes, and what it has is not known meanwhile. */
  static await(parts: ContainerRunnerParts): ContainerRunner {
    const runner = new ContainerRunner(parts);
    runner.#awaiting = runner.#begunAtLast().then(() => {
      runner.#awaiting = undefined;
    });
    return runner;
  }

  get awaiting(): Promise<void> | undefined {
    return this.#awaiting;
  }

  async #begun(): Promise<void> {
    const late = new AbortController();
    const timer = this.parts.env.after(helloMs, () => late.abort(new Error('the engine does not answer')));
    await this.#engine.version(late.signal).finally(() => timer.cancel());
    await this.#adopt();
    this.#measure();
  }

  async #begunAtLast(): Promise<void> {
    const { env, socketPath, onProblem } = this.parts;
    for (let failures = 1; !this.#isClosed; failures += 1) {
      try {
        return await this.#begun();
      } catch (error) {
        onProblem(
          `the container engine at ${socketPath} does not answer, so that nobody knows what runs in containers here: ${String(error)}`,
        );
      }
      await env.sleep(backoffAfter(again, failures, env.random));
    }
    // Nobody is told that anything is known.
    await new Promise(() => undefined);
  }

  attach(onEvent: (event: RunnerEvent) => void): void {
    this.#onEvent = onEvent;
  }

  list(): Iterable<Run> {
    return [...this.#containers.values()].map(({ run }) => run);
  }

  start(launch: Launch): void {
    const { binding, execution } = launch;
    const { uid, tenant, name } = binding.replica;
    const last = this.#containers.get(uid);
    if (last !== undefined && last.run.execution >= execution) return;
    const { workload, slot, isFenced } = binding;
    const container: Container = {
      run: { uid, execution, isFenced, state: { at: 'Starting' } },
      labels: { tenant, workload, replica: name, uid, slot, execution, node: this.parts.node },
      ...{ id: undefined, stop: new AbortController(), graceSeconds: undefined, pump: undefined },
    };
    this.#containers.set(uid, container);
    void this.#launch(container, launch, last?.id);
  }

  stop(uid: string, graceSeconds: number): void {
    const container = this.#containers.get(uid);
    if (container === undefined || container.run.state.at === 'Ended') {
      const execution = container?.run.execution ?? 0;
      this.parts.env.after(0, () => {
        if (!this.#isClosed) this.#onEvent({ kind: 'Ended', uid, execution, end: { reason: 'Stopped' } });
      });
      return;
    }
    const isAsked = container.graceSeconds !== undefined;
    container.graceSeconds = graceSeconds;
    container.stop.abort();
    if (!isAsked && container.id !== undefined) void this.#stopIt(container, container.id);
  }

  forget(uid: string): void {
    const container = this.#containers.get(uid);
    this.#containers.delete(uid);
    this.#usage.delete(uid);
    if (container?.id !== undefined) void this.#removed(container.id);
  }

  permit(): void {
    // It runs nothing that is fenced: admission and the scheduler see to that (FenceUnsupported).
  }

  exec(uid: string, request: ExecRequest, ears: ExecEars): ExecSession {
    const container = this.#containers.get(uid);
    if (container?.id !== undefined && container.run.state.at === 'Running')
      return containerExec({ ...this.parts, engine: this.#engine }, container.id, request, ears);
    this.parts.env.after(0, () => ears.onExit(undefined, 'it does not run'));
    const ignored = (): void => undefined;
    return { write: ignored, end: ignored, resize: ignored, pause: ignored, resume: ignored, kill: ignored };
  }

  usage(uid: string): MeasuredUsage | undefined {
    return this.#usage.get(uid);
  }

  /** Ends all that runs, and waits for it. */
  async end(graceSeconds: number): Promise<void> {
    const live = [...this.#containers.values()].filter(({ run }) => run.state.at !== 'Ended');
    for (const { run } of live) this.stop(run.uid, graceSeconds);
    const { env } = this.parts;
    for (let looks = 0; live.some(({ run }) => run.state.at !== 'Ended'); looks++) {
      if (looks * endLookMs > (graceSeconds + endWaitSeconds) * 1_000) return;
      await env.sleep(endLookMs);
    }
  }

  /** Leaves what runs to the engine. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#usageTimer?.cancel();
    for (const { pump } of this.#containers.values()) await pump?.leave();
    await Promise.all(this.#removing);
  }

  // ---- from asked for to over ----------------------------------------------------------------------------

  /** Tries for as long as its engine gives no answer: how long that may take is for whoever asked, who stops it. */
  async #launch(container: Container, launch: Launch, last: string | undefined): Promise<void> {
    const { signal } = container.stop;
    const { env } = this.parts;
    for (let failures = 1; !this.#isClosed; failures += 1) {
      // Of one that was made it is not known whether it was started.
      const isUndone = container.id === undefined;
      if (signal.aborted && isUndone) return this.#ended(container, { reason: 'Stopped' });
      try {
        return await this.#tryToLaunch(container, launch, last);
      } catch (error) {
        if (this.#isClosed) return;
        if (error instanceof ImageFailure) return this.#ended(container, error.end);
        const message = error instanceof Error ? error.message : String(error);
        if (error instanceof EngineError) return this.#ended(container, startFailure(message));
        this.#tell(container, { kind: 'Step', ...keyOf(container), step: 'AwaitingEngine', message });
      }
      const isMade = container.id !== undefined;
      await env
        .sleep(backoffAfter(again, failures, env.random), isMade ? undefined : signal)
        .catch(() => undefined);
    }
  }

  async #tryToLaunch(container: Container, launch: Launch, last: string | undefined): Promise<void> {
    const { signal } = container.stop;
    const image = await haveImage(this.#engine, launch, signal, (step, message) =>
      this.#tell(container, { kind: 'Step', ...keyOf(container), step, message }),
    );
    if (signal.aborted && container.id === undefined) return this.#ended(container, { reason: 'Stopped' });
    const spec = containerSpec(launch, image, this.parts, this.#limits);
    const name = containerName(container.run.uid, container.run.execution);
    const { id, isNew } = await this.#engine.create(name, spec);
    container.id = id;
    if (last !== undefined) await this.#removed(last);
    // An execution runs once: one that has been there before is only followed.
    const isFresh = isNew || (await this.#engine.state(id))?.status === 'created';
    if (isFresh && signal.aborted) return this.#ended(container, { reason: 'Stopped' });
    if (isFresh) await this.#begin(id);
    await this.#follow(container, id);
  }

  /** Starts it once. An engine that gave no answer may have done it: nothing is said before that is known. */
  async #begin(id: string): Promise<void> {
    const { env } = this.parts;
    for (let failures = 0; ; failures += 1) {
      try {
        const state = failures === 0 ? undefined : await this.#engine.state(id);
        if (failures === 0 || state?.status === 'created') await this.#engine.start(id);
        return;
      } catch (error) {
        if (error instanceof EngineError || this.#isClosed) throw error;
        await env.sleep(backoffAfter(again, failures + 1, env.random));
      }
    }
  }

  /** It runs, or did: until it is over. */
  async #follow(container: Container, id: string): Promise<void> {
    container.pump = await LogPump.open({ ...this.parts, engine: this.#engine }, id, container.labels);
    container.run = { ...container.run, state: { at: 'Running', driverId: id } };
    this.#tell(container, { kind: 'Running', ...keyOf(container), driverId: id });
    if (container.graceSeconds !== undefined) void this.#stopIt(container, id);
    const state = withEvidence(await this.#over(container, id), id);
    await container.pump.finish();
    this.#ended(container, containerEnd(state, container.graceSeconds !== undefined));
  }

  /** Its state once it does not run any more. While the engine is away nothing is known, and it is asked again. */
  async #over(container: Container, id: string): ReturnType<ContainerEngine['state']> {
    const { env } = this.parts;
    for (let failures = 0; ; failures += 1) {
      try {
        await this.#engine.wait(id).catch(() => undefined);
        const state = await this.#engine.state(id);
        if (state?.isRunning !== true) return state;
      } catch {
        this.parts.onProblem(
          `the container engine does not answer; ${container.labels.replica} is looked at again`,
        );
      }
      await env.sleep(backoffAfter(again, failures + 1, env.random));
    }
  }

  async #stopIt(container: Container, id: string): Promise<void> {
    const { env } = this.parts;
    for (let failures = 0; container.run.state.at !== 'Ended' && !this.#isClosed; failures += 1) {
      try {
        await this.#engine.stop(id, container.graceSeconds ?? 0);
        return;
      } catch {
        await env.sleep(backoffAfter(again, failures + 1, env.random));
      }
    }
  }

  #ended(container: Container, end: RunEnd): void {
    if (container.run.state.at === 'Ended') return;
    container.run = { ...container.run, state: { at: 'Ended', end } };
    this.#tell(container, { kind: 'Ended', ...keyOf(container), end });
  }

  /** What became of an execution that another has replaced, or of a replica that is forgotten, is told nobody. */
  #tell(container: Container, event: RunnerEvent): void {
    if (!this.#isClosed && this.#containers.get(container.run.uid) === container) this.#onEvent(event);
  }

  async #removed(id: string): Promise<void> {
    const removing = this.#engine
      .remove(id)
      .catch((error: unknown) => this.parts.onProblem(`a container cannot be removed: ${String(error)}`));
    this.#removing.add(removing);
    await removing;
    this.#removing.delete(removing);
  }

  // ---- what another life of the agent has left -----------------------------------------------------------

  async #adopt(): Promise<void> {
    const found = await this.#listed();
    for (const facts of found.toSorted((a, b) => executionOf(a) - executionOf(b)))
      await this.#adoptOne(facts);
  }

  /** An engine may fail to list because one of them is being removed. */
  async #listed(): Promise<readonly ContainerFacts[]> {
    const { env, agent } = this.parts;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#engine.list(`${label.agent}=${agent}`);
      } catch (error) {
        if (!(error instanceof EngineError) || failures >= listFailuresMax) throw error;
        await env.sleep(backoffAfter(again, failures + 1, env.random));
      }
    }
  }

  async #adoptOne(facts: ContainerFacts): Promise<void> {
    const { id, labels: words } = facts;
    const uid = words[label.uid] ?? '';
    const execution = executionOf(facts);
    const state = withEvidence(await this.#engine.state(id), id);
    // One that was made and never started: whoever asked for it asks again.
    if (uid === '' || state === undefined || state.status === 'created') return this.#removed(id);
    const earlier = this.#containers.get(uid)?.id;
    // Found before an answer was lost.
    if (earlier === id) return;
    const word = (key: string): string => words[key] ?? '';
    const container: Container = {
      run: {
        uid,
        execution,
        isFenced: word(label.fenced) === 'true',
        state: { at: 'Running', driverId: id },
      },
      labels: {
        ...{ uid, execution, tenant: word(label.tenant), workload: word(label.workload) },
        ...{ replica: word(label.replica), slot: word(label.slot), node: this.parts.node },
      },
      ...{ id, stop: new AbortController(), graceSeconds: undefined, pump: undefined },
    };
    if (!state.isRunning) {
      // What it wrote while nobody was there is taken first.
      const pump = await LogPump.open({ ...this.parts, engine: this.#engine }, id, container.labels);
      await pump.finish();
      container.run = { ...container.run, state: { at: 'Ended', end: containerEnd(state, false) } };
    }
    this.#containers.set(uid, container);
    if (earlier !== undefined) await this.#removed(earlier);
    if (state.isRunning) void this.#followFound(container, id);
  }

  /** An engine that goes away again before it is followed is asked again. */
  async #followFound(container: Container, id: string): Promise<void> {
    const { env, onProblem } = this.parts;
    for (let failures = 1; !this.#isClosed; failures += 1) {
      try {
        return await this.#follow(container, id);
      } catch (error) {
        if (!this.#isClosed)
          onProblem(`${container.labels.replica} cannot be followed yet: ${String(error)}`);
      }
      await env.sleep(backoffAfter(again, failures, env.random));
    }
  }

  // ---- usage ---------------------------------------------------------------------------------------------

  /** Looks at what runs now and then, one after the other. */
  #measure(): void {
    this.#usageTimer = this.parts.env.after(usageEveryMs, () => {
      void this.#measureAll().finally(() => {
        if (!this.#isClosed) this.#measure();
      });
    });
  }

  async #measureAll(): Promise<void> {
    for (const [uid, { id, run }] of this.#containers) {
      if (id === undefined || run.state.at !== 'Running') continue;
      const used = await this.#engine.usage(id).catch(() => undefined);
      const measuredAt = this.parts.env.clock.boot();
      if (used !== undefined && this.#containers.has(uid))
        this.#usage.set(uid, { ...used, oomKills: 0, measuredAt });
    }
  }
}

const keyOf = ({ run }: Container): Pick<Run, 'uid' | 'execution'> => ({
  uid: run.uid,
  execution: run.execution,
});

const executionOf = ({ labels }: ContainerFacts): number => Number(labels[label.execution] ?? 0);

/** What the kernel knows and the engine has not noticed. */
function withEvidence(state: ContainerState | undefined, id: string): ContainerState | undefined {
  if (state === undefined || state.isRunning || state.isOutOfMemory || state.exitCode !== killedCode)
    return state;
  return { ...state, isOutOfMemory: kernelSawOutOfMemory(id) === true };
}
