import type { Permit, Run, RunnerEvent } from '../runner.js';
import type { RunSpec } from './machine.js';
import { type RunOrder, type Welcome, wirePermit } from './protocol.js';

interface Mirrored {
  run: Run;
  /** While it has not been seen to run: it is asked for again if the supervisor dies before it has heard. */
  asked: RunSpec | undefined;
  /** It was asked to stop, and is asked again of a successor. */
  graceSeconds: number | undefined;
}

/**
 * What a supervisor holds, as its agent knows it, and what the supervisor was asked. A successor is asked again for what the
 * last one may not have heard; it does nothing twice.
 */
export class RunMirror {
  readonly #runs = new Map<string, Mirrored>();
  #onEvent: (event: RunnerEvent) => void = () => undefined;
  #permit: Permit | undefined;

  constructor(private readonly say: (order: RunOrder) => void) {}

  attach(onEvent: (event: RunnerEvent) => void): void {
    this.#onEvent = onEvent;
  }

  list(): Run[] {
    return [...this.#runs.values()].map(({ run }) => run);
  }

  get(uid: string): Run | undefined {
    return this.#runs.get(uid)?.run;
  }

  start(spec: RunSpec): void {
    const { uid, execution, isFenced } = spec;
    const last = this.#runs.get(uid);
    if (last !== undefined && last.run.execution >= execution) return;
    const run: Run = { uid, execution, isFenced, state: { at: 'Starting' } };
    this.#runs.set(uid, { run, asked: spec, graceSeconds: undefined });
    this.say({ kind: 'start', spec });
  }

  stop(uid: string, graceSeconds: number): void {
    const mirrored = this.#runs.get(uid);
    if (mirrored !== undefined) mirrored.graceSeconds = graceSeconds;
    this.say({ kind: 'stop', uid, graceSeconds });
  }

  forget(uid: string): void {
    this.#runs.delete(uid);
    this.say({ kind: 'forget', uid });
  }

  permit(permit: Permit): void {
    this.#permit = permit;
    this.say({ kind: 'permit', permit: wirePermit(permit) });
  }

  /** A supervisor says what there is: ours as before, or a successor that knows what the journal said. */
  welcomed({ runs }: Pick<Welcome, 'runs'>): void {
    const there = new Map(runs.map((run) => [run.uid, run]));
    if (this.#permit !== undefined) this.say({ kind: 'permit', permit: wirePermit(this.#permit) });
    for (const [uid, mirrored] of this.#runs) {
      const run = there.get(uid);
      const isKnown = run !== undefined && run.execution >= mirrored.run.execution;
      if (!isKnown && mirrored.asked !== undefined) this.say({ kind: 'start', spec: mirrored.asked });
      else if (!isKnown) this.#goneUnseen(mirrored.run);
      else if (run.state.at === 'Running' && mirrored.run.state.at === 'Starting')
        this.happened({ kind: 'Running', ...keyOf(run), driverId: run.state.driverId });
      else if (run.state.at === 'Ended' && mirrored.run.state.at !== 'Ended')
        this.happened({ kind: 'Ended', ...keyOf(run), end: run.state.end });
      if (mirrored.graceSeconds !== undefined && mirrored.run.state.at !== 'Ended')
        this.say({ kind: 'stop', uid, graceSeconds: mirrored.graceSeconds });
    }
    for (const run of runs)
      if (!this.#runs.has(run.uid))
        this.#runs.set(run.uid, { run, asked: undefined, graceSeconds: undefined });
  }

  happened(event: RunnerEvent): void {
    const mirrored = this.#runs.get(event.uid);
    if (mirrored !== undefined && mirrored.run.execution === event.execution) {
      const { run } = mirrored;
      if (event.kind === 'Running')
        mirrored.run = { ...run, state: { at: 'Running', driverId: event.driverId } };
      if (event.kind === 'Ended') mirrored.run = { ...run, state: { at: 'Ended', end: event.end } };
      if (event.kind !== 'Step') mirrored.asked = undefined;
    }
    this.#onEvent(event);
  }

  /** Of what has not begun, people are told what it waits for. */
  awaits(step: string, message: string): void {
    for (const { run } of this.#runs.values())
      if (run.state.at === 'Starting') this.#onEvent({ kind: 'Step', ...keyOf(run), step, message });
  }

  #goneUnseen(run: Run): void {
    // How it ended was known before: nothing is left to tell.
    if (run.state.at === 'Ended') return;
    const end = {
      reason: 'ExitUnknown',
      message: 'its supervisor is gone and has left no word of it',
    } as const;
    this.happened({ kind: 'Ended', ...keyOf(run), end });
  }
}

const keyOf = ({ uid, execution }: Run): Pick<Run, 'uid' | 'execution'> => ({ uid, execution });
