import type { Env } from '../../env/env.js';
import { VirtualTime } from '../../env/virtual.js';
import type { DriverEvent } from '../driver.js';
import type {
  ExecEars,
  ExecRequest,
  ExecSession,
  Launch,
  Run,
  RunEnd,
  Runner,
  RunnerEvent,
} from '../runner.js';
import { Wheel } from '../wheel.js';
import { KeptDriver } from './kept-driver.js';
import type { NetworkQuestion } from './probe-caller.js';

/** A runner that runs nothing: a test says what becomes of what it was told to start. It outlives drivers. */
export class FakeRunner implements Runner {
  readonly name = 'process';
  readonly canFence = true;
  awaiting: Promise<void> | undefined;
  readonly launches: Launch[] = [];
  readonly stops: string[] = [];
  readonly forgotten: string[] = [];
  /** Whether what is started runs, and what is stopped ends, by itself a moment later. */
  isWilling = true;
  /** What an exec ends with; undefined: never. */
  execCode: (command: readonly string[]) => number | undefined = () => 0;
  readonly #runs = new Map<string, Run>();
  #onEvent: (event: RunnerEvent) => void = () => undefined;

  constructor(private readonly env: Env) {}

  attach(onEvent: (event: RunnerEvent) => void): void {
    this.#onEvent = onEvent;
  }

  list(): Iterable<Run> {
    return [...this.#runs.values()];
  }

  start(launch: Launch): void {
    const { uid } = launch.binding.replica;
    const { execution } = launch;
    this.launches.push(launch);
    this.#runs.set(uid, { uid, execution, isFenced: launch.binding.isFenced, state: { at: 'Starting' } });
    if (this.isWilling) this.env.after(1, () => this.runs(uid));
  }

  stop(uid: string, graceSeconds: number): void {
    this.stops.push(`${uid} ${graceSeconds}`);
    if (this.isWilling) this.env.after(1, () => this.ends(uid, { reason: 'Stopped', exitCode: 143 }));
  }

  forget(uid: string): void {
    this.forgotten.push(uid);
    this.#runs.delete(uid);
  }

  permit(): void {}

  exec(_: string, { command }: ExecRequest, ears: ExecEars): ExecSession {
    const code = this.execCode(command);
    if (code !== undefined) this.env.after(1, () => ears.onExit(code));
    const nothing = (): void => undefined;
    return { write: nothing, end: nothing, resize: nothing, pause: nothing, resume: nothing, kill: nothing };
  }

  usage(): undefined {
    return undefined;
  }

  /** The execution of a replica that was started last runs. */
  runs(uid: string): void {
    const run = this.#runs.get(uid);
    if (run?.state.at !== 'Starting') return;
    const driverId = `${uid}/${run.execution}`;
    this.#runs.set(uid, { ...run, state: { at: 'Running', driverId } });
    this.#onEvent({ kind: 'Running', uid, execution: run.execution, driverId });
  }

  ends(uid: string, end: RunEnd): void {
    const run = this.#runs.get(uid);
    if (run?.state.at === 'Ended') return;
    if (run !== undefined) this.#runs.set(uid, { ...run, state: { at: 'Ended', end } });
    this.#onEvent({ kind: 'Ended', uid, execution: run?.execution ?? 0, end });
  }

  steps(uid: string, step: string, message: string): void {
    const execution = this.#runs.get(uid)?.execution ?? 0;
    this.#onEvent({ kind: 'Step', uid, execution, step, message });
  }
}

/** One word for each event, with what matters of it. */
export function eventText(event: DriverEvent): string {
  switch (event.kind) {
    case 'Started':
      return `Started ${event.executions}`;
    case 'Step':
      return `Step ${event.step} ${event.message ?? ''}`.trim();
    case 'Ready':
      return 'Ready';
    case 'NotReady':
      return `NotReady ${event.message}`;
    case 'Exited':
      return `Exited ${event.reason}${event.exitCode === undefined ? '' : ` ${event.exitCode}`}`;
  }
}

/** A driver over a fake runner on virtual time. `restart` is another life of the agent on the same machine. */
export function openKeptDriver() {
  const time = new VirtualTime({ seed: 7 });
  const { env } = time.machine('node');
  const runner = new FakeRunner(env);
  const events: string[] = [];
  const network = {
    asked: [] as NetworkQuestion[],
    /** What is wrong with every answer; undefined: nothing. */
    problem: undefined as string | undefined,
  };
  let wheel = new Wheel(env);
  const open = (processTenants?: readonly string[]): KeptDriver => {
    // What the last life had in mind, nobody does any more.
    wheel.close();
    wheel = new Wheel(env);
    const driver = new KeptDriver({
      ...{ runners: [runner], env, wheel },
      ...(processTenants !== undefined && { processTenants }),
      place: { node: 'n1', region: 'eu', zone: 'a' },
      caller: {
        ask: (question, answer) => {
          network.asked.push(question);
          env.after(1, () => answer(network.problem));
        },
      },
    });
    driver.attach(
      (event) => events.push(eventText(event)),
      () => events.push('Found'),
    );
    return driver;
  };
  return {
    time,
    env,
    runner,
    events,
    network,
    driver: open(),
    restart: open,
    run: (ms: number) => time.run(time.nowMs + ms),
  };
}
