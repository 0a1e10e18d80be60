import type { Env, Timer } from '../../env/env.js';
import { type BootInstant, type MonotonicInstant, msBetween } from '../../env/instant.js';
import type { NodeBinding } from '../../model/node-stream.js';
import type { Driver, DriverEvent, Found } from '../driver.js';
import type { Permit, Run, Runner, RunnerEvent } from '../runner.js';
import type { ReplicaUsage } from '../usage/replica-usage.js';
import type { Wheel } from '../wheel.js';
import { askProbe } from './ask-probe.js';
import { launchOf, type Place, type WholeBinding } from './launch.js';
import type { ProbeCaller } from './probe-caller.js';
import type { Probe, ProbeAnswer, Streak } from './probe-streak.js';
import { Prober } from './prober.js';
import {
  type Act,
  dueAtMs,
  type Happening,
  newUpkeep,
  nextUpkeep,
  type Upkeep,
  type UpkeepRules,
} from './upkeep.js';

export interface KeptDriverParts {
  /** At most one of each name. What none of them can run is not started. */
  readonly runners: readonly Runner[];
  readonly caller: ProbeCaller;
  readonly env: Env;
  readonly wheel: Wheel;
  readonly place: Place;
  /** Where jobs of this machine are reached that have no address of their own. */
  readonly address?: string;
  /** Whose processes may be started here; undefined: those of every tenant. */
  readonly processTenants?: readonly string[];
}

interface Job {
  readonly binding: NodeBinding;
  readonly runner: Runner;
  readonly rules: UpkeepRules;
  upkeep: Upkeep;
  /** How many of its executions have ended for want of memory, since this agent was started. */
  oomKills: number;
  /** Its own address, while it runs. */
  host: string | undefined;
  probers: readonly Prober[];
  timer: Timer | undefined;
  /** Nobody will ask for it again: it goes from the runner when it is over. */
  isForgotten: boolean;
}

const loopback = '127.0.0.1';

/**
 * Keeps jobs up over runners that only run: probes them, starts them again on this node, and gives up as their
 * templates say. The rule is `nextUpkeep`; this tells it what happens and does what follows.
 */
export class KeptDriver implements Driver {
  readonly canFence: boolean;
  readonly #jobs = new Map<string, Job>();
  // Runs of other lives that were told to stop, and go from the runner when they have.
  readonly #unwanted = new Set<string>();
  readonly #begun: MonotonicInstant;
  #onEvent: (event: DriverEvent) => void = () => undefined;
  #startUntil: BootInstant | undefined;

  constructor(private readonly parts: KeptDriverParts) {
    this.canFence = parts.runners.some(({ canFence }) => canFence);
    this.#begun = parts.env.clock.monotonic();
  }

  attach(onEvent: (event: DriverEvent) => void, onFound: () => void): void {
    this.#onEvent = onEvent;
    for (const runner of this.parts.runners) {
      runner.attach((event) => this.#heard(event));
      void runner.awaiting?.then(onFound);
    }
  }

  *list(): Iterable<string> {
    for (const runner of this.parts.runners) for (const { uid } of runner.list()) yield uid;
  }

  adopt(binding: NodeBinding): Found {
    const { uid } = binding.replica;
    const [runner, run] = this.#runOf(uid) ?? [];
    if (runner === undefined || run === undefined) return this.#isAwaited(binding) ? 'NotKnown' : 'Gone';
    const job = this.#jobs.get(uid) ?? this.#add(binding, runner, adopted(run, binding, this.#nowMs()));
    if (run.state.at === 'Running') {
      job.host = run.state.address;
      if (job.probers.length === 0) this.#probe(job);
    }
    // It ended while nobody looked: what follows is decided as if it had just happened.
    const { execution, state } = run;
    if (state.at === 'Ended') this.#later(uid, { kind: 'Ended', execution, end: state.end });
    this.#arm(job);
    return job.upkeep.at.kind === 'Running' && job.upkeep.startingSinceMs === undefined ? 'Ready' : 'Running';
  }

  /** What runs a replica; undefined if nothing of it runs. */
  runnerOf(uid: string): Runner | undefined {
    const [runner, run] = this.#runOf(uid) ?? [];
    return run === undefined || run.state.at === 'Ended' ? undefined : runner;
  }

  /** Whether nothing of a replica will run here any more. */
  isOver(uid: string): boolean {
    const job = this.#jobs.get(uid);
    return job === undefined ? this.runnerOf(uid) === undefined : job.upkeep.at.kind === 'Over';
  }

  /** What replicas use, as it is known now. */
  *usage(): Iterable<ReplicaUsage> {
    for (const job of this.#jobs.values()) yield usageOf(job);
  }

  usageOf(uid: string): ReplicaUsage | undefined {
    const job = this.#jobs.get(uid);
    return job && usageOf(job);
  }

  /** The replicas that it keeps up, or has, until they are forgotten. */
  uids(): Iterable<string> {
    return this.#jobs.keys();
  }

  start(binding: NodeBinding): void {
    const { uid } = binding.replica;
    if (this.#jobs.has(uid)) return;
    const runner = this.parts.runners.find(({ name }) => name === wayOf(binding.template));
    const message = this.#refusal(binding, runner);
    if (runner === undefined || message !== undefined) {
      this.parts.env.after(0, () =>
        this.#onEvent({ kind: 'Exited', uid, reason: 'StartFailed', message: message ?? '' }),
      );
      return;
    }
    const job = this.#add(binding, runner, newUpkeep(this.#nowMs()));
    this.#act(job, { kind: 'Start', execution: 1 });
    this.#arm(job);
  }

  stop(uid: string, graceSeconds: number): void {
    if (this.#jobs.has(uid)) return this.#later(uid, { kind: 'AskedToStop', graceSeconds });
    // Of another life, or never there: nothing is known of it but what the runner says.
    const [runner] = this.#runOf(uid) ?? [];
    if (runner !== undefined) runner.stop(uid, graceSeconds);
    else this.parts.env.after(0, () => this.#onEvent({ kind: 'Exited', uid, reason: 'Stopped' }));
  }

  forget(uid: string): void {
    const job = this.#jobs.get(uid);
    const [runner, run] = this.#runOf(uid) ?? [];
    if (job !== undefined && job.upkeep.at.kind !== 'Over') job.isForgotten = true;
    else if (run !== undefined && run.state.at !== 'Ended') this.#unwanted.add(uid);
    else this.#drop(uid, runner);
  }

  permit(permit: Permit): void {
    this.#startUntil = permit.startUntil;
    for (const runner of this.parts.runners) runner.permit(permit);
    for (const [uid, { binding, upkeep }] of this.#jobs)
      if (binding.isFenced && upkeep.at.kind === 'Resting') this.#later(uid, { kind: 'Look' });
  }

  #nowMs(): number {
    return msBetween(this.#begun, this.parts.env.clock.monotonic());
  }

  #runOf(uid: string): readonly [Runner, Run] | undefined {
    for (const runner of this.parts.runners)
      for (const run of runner.list()) if (run.uid === uid) return [runner, run];
    return undefined;
  }

  /** Whether a runner that may have it has not said yet what it has. */
  #isAwaited({ template }: NodeBinding): boolean {
    return this.parts.runners.some(
      ({ name, awaiting }) => awaiting !== undefined && (template === undefined || name === wayOf(template)),
    );
  }

  #add(binding: NodeBinding, runner: Runner, upkeep: Upkeep): Job {
    const job: Job = {
      ...{ binding, runner, rules: rulesOf(binding), upkeep, host: undefined, probers: [], timer: undefined },
      ...{ isForgotten: false, oomKills: 0 },
    };
    this.#jobs.set(binding.replica.uid, job);
    return job;
  }

  #drop(uid: string, runner: Runner | undefined): void {
    this.#jobs.delete(uid);
    this.#unwanted.delete(uid);
    runner?.forget(uid);
  }

  #heard(event: RunnerEvent): void {
    const { uid } = event;
    if (this.#jobs.has(uid)) return this.#happen(uid, event);
    if (event.kind !== 'Ended') return;
    this.#onEvent({ kind: 'Exited', uid, ...event.end });
    if (this.#unwanted.has(uid)) this.#drop(uid, this.#runOf(uid)?.[0]);
  }

  #later(uid: string, happening: Happening): void {
    this.parts.env.after(0, () => this.#happen(uid, happening));
  }

  #happen(uid: string, happening: Happening): void {
    const job = this.#jobs.get(uid);
    if (job === undefined) return;
    if (happening.kind === 'Running') job.host = happening.address;
    if (happening.kind === 'Ended' && happening.end.reason === 'OutOfMemory') job.oomKills += 1;
    const now = { ms: this.#nowMs(), mayStart: this.#mayStart(job), random: this.parts.env.random };
    const { next, acts } = nextUpkeep(job.upkeep, happening, job.rules, now);
    job.upkeep = next;
    this.#arm(job);
    for (const act of acts) this.#act(job, act);
    if (next.at.kind === 'Over' && job.isForgotten) this.#drop(uid, job.runner);
  }

  /** DESIGN §8: nothing fenced starts when the time that is left would not do to stop it gracefully. */
  #mayStart({ binding }: Job): boolean {
    if (!binding.isFenced) return true;
    return this.#startUntil !== undefined && msBetween(this.parts.env.clock.boot(), this.#startUntil) > 0;
  }

  #act(job: Job, act: Act): void {
    const { binding, runner } = job;
    const { uid } = binding.replica;
    switch (act.kind) {
      case 'Start':
        return this.#launch(job, act.execution);
      case 'Stop':
        return runner.stop(uid, act.graceSeconds);
      case 'Probe':
        return this.#probe(job);
      case 'EndProbes':
        for (const prober of job.probers) prober.close();
        job.probers = [];
        return;
      case 'Tell':
        return this.#onEvent(this.#withAddress({ ...act.event, uid }));
    }
  }

  #launch({ binding, runner }: Job, execution: number): void {
    if (!isWhole(binding)) return;
    const message = this.#refusal(binding, runner);
    if (message === undefined) return runner.start(launchOf(binding, execution, this.parts.place));
    const end = { reason: 'StartFailed', message } as const;
    this.#later(binding.replica.uid, { kind: 'Ended', execution, end });
  }

  /** Why it is not started here: the scheduler may not have known, or it was started by an agent that runs more. */
  #refusal({ template, replica }: NodeBinding, runner: Runner | undefined): string | undefined {
    const { processTenants } = this.parts;
    if (template === undefined) return 'its revision is gone';
    const way = wayOf(template);
    if (runner === undefined) return `this node runs no ${way}`;
    if (way !== 'process' || processTenants?.includes(replica.tenant) !== false) return undefined;
    return `this node runs processes of tenant ${processTenants.join(', ')} only, not of ${replica.tenant}`;
  }

  /** What listens on the machine itself is reached where the machine is. */
  #withAddress(event: DriverEvent): DriverEvent {
    const { address } = this.parts;
    return event.kind === 'Started' && address !== undefined ? { address, ...event } : event;
  }

  #arm(job: Job): void {
    job.timer?.cancel();
    const dueMs = dueAtMs(job.upkeep, job.rules, this.#nowMs());
    if (dueMs === undefined) return;
    const { uid } = job.binding.replica;
    job.timer = this.parts.wheel.after(Math.max(0, dueMs - this.#nowMs()), () =>
      this.#happen(uid, { kind: 'Look' }),
    );
  }

  // ---- probes --------------------------------------------------------------------------------------------

  #probe(job: Job): void {
    const { binding, upkeep } = job;
    const { uid } = binding.replica;
    if (!isWhole(binding)) return;
    const { readiness, liveness } = binding.template;
    const { env } = launchOf(binding, upkeep.execution, this.parts.place);
    const probed = {
      ...{ uid, runner: job.runner, env, host: job.host ?? loopback, ports: binding.ports ?? {} },
    };
    const prober = (
      probe: Probe,
      isEager: boolean,
      onAnswer: (answer: ProbeAnswer, verdict: Streak['verdict']) => void,
    ): Prober =>
      new Prober({
        ...{ probe, isEager, onAnswer, wheel: this.parts.wheel },
        ask: (answer) => askProbe(this.parts, probe, probed, answer),
      });
    // Of one that was ready before this agent lived, only a change is news.
    let told: Streak['verdict'] = upkeep.startingSinceMs === undefined ? 'Passing' : 'Unknown';
    const onReadiness = ({ message }: ProbeAnswer, verdict: Streak['verdict']): void => {
      // On the way to be ready every answer is news; afterwards only a change is.
      const isOnTheWay = job.upkeep.startingSinceMs !== undefined;
      if (!isOnTheWay && (verdict === 'Unknown' || verdict === told)) return;
      told = verdict;
      this.#happen(uid, { kind: 'Readiness', isPassing: verdict === 'Passing', message });
    };
    job.probers = [
      ...(readiness === undefined ? [] : [prober(readiness, told === 'Unknown', onReadiness)]),
      ...(liveness === undefined
        ? []
        : [
            prober(liveness, false, ({ message }, verdict) => {
              if (verdict === 'Failing') this.#happen(uid, { kind: 'LivenessFailed', message });
            }),
          ]),
    ];
  }
}

const wayOf = (template: NodeBinding['template']): Runner['name'] =>
  template?.run.container === undefined ? 'process' : 'container';

const isWhole = (binding: NodeBinding): binding is WholeBinding => binding.template !== undefined;

function usageOf({ binding, runner, upkeep, oomKills }: Job): ReplicaUsage {
  const { replica, workload } = binding;
  const running = runner.usage(replica.uid);
  return {
    ...{ tenant: replica.tenant, workload, replica: replica.name, running },
    ...{ restarts: upkeep.execution - 1, oomKills: oomKills + (running?.oomKills ?? 0) },
  };
}

/** A job that another life of the agent started. */
function adopted({ execution, state }: Run, { stage, template }: NodeBinding, nowMs: number): Upkeep {
  const fresh: Upkeep = { ...newUpkeep(nowMs), execution };
  if (state.at === 'Starting') return fresh;
  // It was ready, as far as the control plane knows, and its probe says so soon if it is not.
  const isReady = template?.readiness === undefined || stage === 'Ready' || stage === 'Serving';
  const step = { step: isReady ? '' : 'WaitingForReadiness', message: '' };
  const running: Upkeep = { ...fresh, at: { kind: 'Running' }, step };
  return isReady && state.at === 'Running' ? { ...running, startingSinceMs: undefined } : running;
}

function rulesOf({ type, template }: NodeBinding): UpkeepRules {
  return {
    type,
    // Of what nothing is known nothing can be started again.
    budget: template === undefined ? 0 : (template.restart?.budget ?? 5),
    windowMs: (template?.restart?.windowSeconds ?? 600) * 1_000,
    startDeadlineMs: (template?.startDeadlineSeconds ?? 300) * 1_000,
    hasReadiness: template?.readiness !== undefined,
    graceSeconds: template?.terminationGraceSeconds ?? 8,
  };
}
