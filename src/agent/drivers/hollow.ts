import type { Env, Timer } from '../../env/env.js';
import { type BootInstant, msBetween } from '../../env/instant.js';
import type { Random } from '../../env/random.js';
import type { NodeBinding } from '../../model/node-stream.js';
import type { Driver, DriverEvent, Found } from '../driver.js';
import type { Permit } from '../runner.js';
import type { Wheel } from '../wheel.js';
import { drawnMs, type HollowProfile, untilFailureMs } from './hollow-profile.js';

interface HollowJob {
  readonly binding: NodeBinding;
  isReady: boolean;
  timer: Timer | undefined;
}

export interface HollowParts {
  readonly profile: HollowProfile;
  readonly wheel: Wheel;
  readonly env: Env;
  readonly random: Random;
  /**
   * A job that it does not know is there if the control plane believes that it ran: nothing runs anyway, and a fleet
   * that was started again goes on where it was. Otherwise only what it knows is there.
   */
  readonly believesTold: boolean;
  /** Told when a job begins and ends to run. */
  readonly onRun?: (binding: NodeBinding, isRunning: boolean) => void;
}

// A wheel counts no longer than this at once; a failure so far away is drawn again then.
const failureHorizonMs = 24 * 3_600_000;

/** Runs nothing: starts, gets ready, fails and ends as a profile says, by seeded chance. */
export class HollowDriver implements Driver {
  readonly canFence = true;
  readonly #jobs = new Map<string, HollowJob>();
  #onEvent: (event: DriverEvent) => void = () => undefined;
  #permittedUntil: BootInstant | undefined;
  // Set while there is anything fenced, and once: a permit that was given meanwhile is seen when its time has come.
  #fenceTimer: Timer | undefined;

  constructor(private readonly parts: HollowParts) {}

  attach(onEvent: (event: DriverEvent) => void): void {
    this.#onEvent = onEvent;
  }

  list(): Iterable<string> {
    return [...this.#jobs.keys()];
  }

  adopt(binding: NodeBinding): Found {
    const known = this.#jobs.get(binding.replica.uid);
    if (known !== undefined) return known.isReady ? 'Ready' : 'Running';
    const { stage } = binding;
    if (
      !this.parts.believesTold ||
      stage === 'Bound' ||
      stage === 'Releasing' ||
      binding.intent !== undefined
    )
      return 'Gone';
    const job = this.#add(binding);
    if (stage === 'Starting') this.#getReady(job);
    else {
      job.isReady = true;
      this.#live(job);
    }
    return job.isReady ? 'Ready' : 'Running';
  }

  start(binding: NodeBinding): void {
    const { profile, wheel, random } = this.parts;
    if (this.#jobs.has(binding.replica.uid)) return;
    const job = this.#add(binding);
    const fails = random.chance(profile.startFailure);
    job.timer = wheel.after(drawnMs(profile.startSeconds, random), () => {
      const { uid } = binding.replica;
      if (fails)
        return this.#end(uid, { reason: 'StartFailed', message: 'the profile lets some starts fail' });
      this.#onEvent({ kind: 'Started', uid, driverId: `hollow-${uid}`, executions: 1 });
      this.#getReady(job);
    });
  }

  stop(uid: string, graceSeconds: number): void {
    const { profile, wheel, random } = this.parts;
    const job = this.#jobs.get(uid);
    job?.timer?.cancel();
    const takesMs = Math.min(drawnMs(profile.stopSeconds, random), graceSeconds * 1_000);
    const timer = wheel.after(takesMs, () => this.#end(uid, { exitCode: 143, reason: 'Stopped' }));
    if (job !== undefined) job.timer = timer;
  }

  /** Nothing is kept of what has ended. */
  forget(): void {}

  permit({ killAt }: Permit): void {
    this.#permittedUntil = killAt;
  }

  #watchFence(): void {
    const { env, wheel } = this.parts;
    const leftMs = this.#permittedUntil === undefined ? 0 : msBetween(env.clock.boot(), this.#permittedUntil);
    this.#fenceTimer = wheel.after(Math.max(0, leftMs), () => this.#fence());
  }

  #fence(): void {
    const { env } = this.parts;
    this.#fenceTimer = undefined;
    const fenced = [...this.#jobs.values()].filter(({ binding }) => binding.isFenced);
    if (fenced.length === 0) return;
    const isPermitted =
      this.#permittedUntil !== undefined && msBetween(env.clock.boot(), this.#permittedUntil) > 0;
    if (isPermitted) return this.#watchFence();
    for (const { binding } of fenced) this.#end(binding.replica.uid, { exitCode: 137, reason: 'Fenced' });
  }

  #add(binding: NodeBinding): HollowJob {
    const job: HollowJob = { binding, isReady: false, timer: undefined };
    this.#jobs.set(binding.replica.uid, job);
    this.parts.onRun?.(binding, true);
    if (binding.isFenced && this.#fenceTimer === undefined) this.#watchFence();
    return job;
  }

  #getReady(job: HollowJob): void {
    const { profile, wheel, random } = this.parts;
    job.timer = wheel.after(drawnMs(profile.readySeconds, random), () => {
      job.isReady = true;
      this.#onEvent({ kind: 'Ready', uid: job.binding.replica.uid });
      this.#live(job);
    });
  }

  /** Runs until it is done or fails, whichever comes first. */
  #live(job: HollowJob): void {
    const { profile, wheel, random } = this.parts;
    const { uid } = job.binding.replica;
    const doneMs = job.binding.type === 'Batch' ? drawnMs(profile.runSeconds, random) : undefined;
    const failsMs = untilFailureMs(profile, random);
    const nextMs = Math.min(doneMs ?? Infinity, failsMs ?? Infinity);
    if (nextMs === Infinity) return;
    job.timer = wheel.after(Math.min(nextMs, failureHorizonMs), () => {
      if (nextMs > failureHorizonMs) this.#live(job);
      else if (nextMs === doneMs) this.#end(uid, { exitCode: 0, reason: 'Completed' });
      else this.#end(uid, { exitCode: 1, reason: 'Exited', message: 'the profile lets some replicas fail' });
    });
  }

  #end(uid: string, end: Omit<DriverEvent & { readonly kind: 'Exited' }, 'kind' | 'uid'>): void {
    const job = this.#jobs.get(uid);
    job?.timer?.cancel();
    if (job !== undefined) this.parts.onRun?.(job.binding, false);
    this.#jobs.delete(uid);
    this.#onEvent({ kind: 'Exited', uid, ...end });
  }
}
