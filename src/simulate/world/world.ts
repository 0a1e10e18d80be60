import { createHash } from 'node:crypto';
import { Checks } from '../../commit/checks.js';
import type { Env } from '../../env/env.js';
import { VirtualTime } from '../../env/virtual.js';
import type { NodeStreams } from '../../model/node-stream.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Authority, Outcome, ReplicaRef } from '../../model/ports.js';
import type { Versions } from '../../model/versions.js';
import { MemoryStore } from '../../store/memory.js';
import { asRevision, type Transaction, type TransactOutcome } from '../../store/contract.js';
import type { StopSeen } from '../checkers/agent-times.js';
import type { Commit, SafetyRule, Violation } from '../checkers/checker.js';
import type { Execution } from '../checkers/execution-witness.js';
import { PromptBinding } from '../checkers/prompt-binding.js';
import { safetyCheckers } from '../checkers/safety-checkers.js';
import { simulatedVersions } from '../checkers/simulated-versions.js';
import { type ActorShape, rightActors } from '../actor-shape.js';
import { controllersWith } from '../controller-defects.js';
import { type FenceTerms, fenceWithout, wholeFence } from '../fence-terms.js';
import type { Mutant } from '../mutant.js';
import { versionsWith, wholeVersions } from '../watch-defects.js';
import { wrongDurations } from '../wrong-durations.js';
import { Acts } from './acts.js';
import type { Scheduler } from '../../propose/scheduler.js';
import { shardLease } from '../../propose/shard.js';
import { type TermShape, wholeTerm } from '../../propose/term-shape.js';
import { termForgetting } from '../wake-defects.js';
import { type SchedulingSetup, usualScheduling } from './scheduling-setup.js';
import type { NodeShape } from './node-shape.js';
import { CellHistory } from './cell-history.js';
import { Faults } from './faults.js';
import type { FaultEvent, FaultPlan } from './fault-plan.js';
import { Network, remoteAuthority } from './network.js';
import { ProcessStore, type SharedStore } from './process-store.js';
import { type Reach, reachStore } from './server.js';
import { type Life, SimProcess } from './sim-process.js';
import { StaleOperations } from './stale-operations.js';
import { watchedAuthority } from './watched-authority.js';
import { Witness } from './witness.js';

export interface WorldOptions {
  readonly seed: number;
  readonly plan: FaultPlan;
  /** What is missing on purpose, to see whether anybody notices. */
  readonly mutant?: Mutant;
  /** Violations with any other message are passed over. */
  readonly shows?: RegExp;
  readonly trace?: (line: string) => void;
  /** Told each commit as one line of JSON: revision, time, process, changes. */
  readonly onCommit?: (line: string) => void;
}

/** How often the state is checked from scratch, besides what each commit touched. */
const wholeEveryCommits = 64;
const violationsMax = 5;
/** The longest effect of a fault on a scheduler: backoffs and pauses last 10 s at most, a lag lasts 4 s. */
const calmAfterMs = 25_000;
/** The effect of one lost transaction: its sender waits for 1 s, and then backs off a little. */
const lostForMs = 2_000;
/** The effect of a cut watch: the cache resumes it and takes in the changes it missed. */
const resumedAfterMs = 800;

/**
 * One simulated cell: a store, processes that reach it over a faulty network, and checkers that see every commit.
 * Everything in it follows from the seed and the plan.
 */
export class World {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly network: Network;
  readonly history = new CellHistory();
  readonly violations: Violation[] = [];
  readonly processes: SimProcess[] = [];
  /** What is open in each process at the moment. */
  readonly reaches = new Map<SimProcess, Reach>();
  /** The node streams that each life of a server serves. */
  readonly streams = new WeakMap<Life, NodeStreams>();
  readonly commits: Commit[] = [];
  /** When each transaction was attempted. */
  readonly attempts: number[] = [];
  readonly rejectedBinds = new Map<string, { tenant: string; name: string; uid: string }>();
  readonly witness: Witness;
  /** Operations under epochs that are over, which the authority refused. */
  readonly stale: StaleOperations;
  /** The operations behind each commit. */
  readonly acts = new Acts();
  /** How the schedulers are started; a scenario changes it before they are. */
  scheduling: SchedulingSetup = usualScheduling;
  /** The schedulers of all lives, for scenarios that look into their queues. */
  readonly schedulers: Scheduler[] = [];
  readonly promptBinding = new PromptBinding({
    leases: () => {
      const { shards } = this.scheduling;
      return Array.from({ length: shards }, (_, shard) => shardLease(shard, shards));
    },
    accepted: (node, account) => this.scheduling.accepted(node, account),
  });
  /** A fault of a scenario that strikes the transactions it names. */
  direct: SharedStore['directed'] | undefined;
  /** Nodes on which nothing runs, as only the world can know. */
  readonly isIdle = new Map<string, () => boolean>();
  /** Changes what a machine offers: its agent registers again. */
  readonly offer = new Map<string, (change: Partial<NodeShape>) => void>();
  /** Switches a machine off: its agent and all that runs there are gone. */
  readonly switchOff = new Map<string, () => void>();
  /** The agent of each node. */
  readonly agents = new Map<string, SimProcess>();
  readonly checks: Checks;
  readonly fence: FenceTerms;
  readonly actors: ActorShape;
  readonly term: TermShape;
  /** The network and the observer: what goes on although a process crashes. */
  readonly wire: Env;
  readonly #store: MemoryStore;
  readonly #versions: Versions;
  readonly #checkers = safetyCheckers();
  readonly #cutFromStore = new Set<string>();
  readonly #watchesHeld = new Set<string>();
  /** How often the watches of a process were cut. */
  readonly #watchCuts = new Map<string, number>();
  #failure: Error | undefined;
  #refused = 0;
  readonly #digest = createHash('sha256');

  constructor(readonly options: WorldOptions) {
    this.time = new VirtualTime({
      seed: options.seed,
      ...(options.trace !== undefined && { trace: options.trace }),
    });
    this.faults = new Faults(options.plan);
    this.network = new Network(this.faults);
    const { mutant } = options;
    this.checks = new Checks(mutant?.kind === 'check' ? mutant.name : undefined);
    this.fence = mutant?.kind === 'fenceTerm' ? fenceWithout[mutant.name] : wholeFence;
    this.actors = actorsWith(mutant);
    this.#versions = mutant?.kind === 'watch' ? versionsWith[mutant.name] : wholeVersions;
    this.term = mutant?.kind === 'wake' ? termForgetting(mutant.name) : wholeTerm;
    this.wire = this.time.machine('wire').env;
    this.#store = new MemoryStore(this.time.machine('store').env);
    const onViolation = (violation: Violation): void => this.#violated([violation]);
    this.witness = new Witness(onViolation);
    this.stale = new StaleOperations({
      ...{ random: this.time.random.stream('stale operations'), state: this.history, onViolation },
    });
  }

  get isBroken(): boolean {
    return this.violations.length > 0 || this.#failure !== undefined;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** How many operations that must never commit were refused. */
  get refused(): number {
    return this.#refused;
  }

  /** Of everything that was committed, when and by whom. */
  get digest(): string {
    return this.#digest.copy().digest('hex');
  }

  /** How often each rule had something to check. */
  get checked(): ReadonlyMap<SafetyRule, number> {
    const counts = new Map<SafetyRule, number>();
    for (const { rule, checked } of this.#checkers.all) counts.set(rule, (counts.get(rule) ?? 0) + checked);
    counts.set('S11', this.witness.checked);
    return counts;
  }

  /** A process; it is not started yet. Clocks of processes run at slightly different rates. */
  addProcess(name: string, main: (life: Life) => Promise<void>): SimProcess {
    const rate = 1 + (this.time.random.stream(`drift ${name}`).float() - 0.5) * 0.002;
    const member = new SimProcess(this.time, name, main, (error) => this.fail(error), { rate });
    this.processes.push(member);
    return member;
  }

  /** What a life of a process needs to reach the store itself. */
  async reach(life: Life): Promise<Reach> {
    const { name } = life.member;
    const way = {
      isCut: () => this.#cutFromStore.has(name),
      isWatchHeld: () => this.#watchesHeld.has(name),
      watchCuts: () => this.#watchCuts.get(name) ?? 0,
    };
    const shared = {
      store: this.#store,
      transact: (transaction: Transaction, by: string) => this.#transact(transaction, by),
      onAttempt: () => void this.attempts.push(this.time.nowMs),
      directed: (transaction: Transaction) => {
        const fault = this.direct?.(transaction);
        if (fault !== undefined) this.promptBinding.excuse(this.time.nowMs + lostForMs);
        return fault;
      },
    };
    const store = new ProcessStore(shared, life, this.faults, this.wire, way);
    const { authority, ...others } = await reachStore(life, {
      store,
      versions: this.#versions,
      checks: this.checks,
    });
    const reach = { ...others, authority: watchedAuthority(authority, this) };
    this.reaches.set(life.member, reach);
    return reach;
  }

  /** The authority of one of these processes, whichever the caller happens to reach. */
  remoteAuthority(life: Life, servers: readonly SimProcess[]): Authority {
    return remoteAuthority(this.network, life, () => {
      const to = life.env.random.pick(servers);
      return { to, authority: () => this.#liveReach(to)?.authority };
    });
  }

  /** Asks one of these processes; undefined if no answer came. */
  ask<T>(life: Life, servers: readonly SimProcess[], answer: (reach: Reach) => T): Promise<T | undefined> {
    const to = life.env.random.pick(servers);
    return this.network.call(life, to, () => {
      const reach = this.#liveReach(to);
      return Promise.resolve(reach === undefined ? undefined : answer(reach));
    });
  }

  /** The node streams of a server, while it lives. */
  nodeStreams(server: SimProcess): NodeStreams | undefined {
    return server.life === undefined ? undefined : this.streams.get(server.life);
  }

  /** A node hears that it shall stop a replica. */
  noteStop(replica: ReplicaRef): void {
    this.#violated(this.#checkers.traffic.noteStop(replica, this.time.nowMs));
  }

  /** When a replica that clients may be sent to was to stop; undefined: it was not. */
  releasedAtMs({ metadata }: Replica): number | undefined {
    return this.#checkers.traffic.askedAtMs(metadata.uid);
  }

  /** What runs without a record of it promises this itself. */
  expectAtMostOne(uid: string): void {
    this.#checkers.bindings.expectAtMostOne(uid);
  }

  noteExecution(execution: Execution): void {
    this.#violated(this.#checkers.bindings.noteExecution(execution));
    this.#violated(this.#checkers.permits.noteExecution(execution));
  }

  /** A machine has a supervisor for a node, which may be permitted to run what is fenced. */
  noteMachine(node: string, machine: string): void {
    this.#checkers.permits.noteMachine(node, machine);
  }

  /** The supervisor of a machine has heard of a permit; `leftMs`: what is left of it, on the clock of that machine. */
  notePermit(machine: string, leftMs: () => number): void {
    this.#checkers.permits.notePermit(machine, leftMs);
  }

  /** This holder of leases promises to wait for those of others. */
  expectWait(holder: string): void {
    this.#checkers.takeovers.expectWait(holder);
  }

  /** A supervisor was asked to stop a run, and kills it. `machineMs`: by its own clock. */
  noteStopAsked(stop: StopSeen, graceMs: number): void {
    this.#checkers.agents.noteStopAsked(stop, graceMs);
  }
  noteKill(stop: StopSeen): void {
    this.#violated(this.#checkers.agents.noteKill(stop));
  }
  forgetStop(uid: string): void {
    this.#checkers.agents.forget(uid);
  }

  /** A replica that no record shows was given away because its fence has expired. */
  noteFenceExpired(uid: string, node: string): void {
    this.#violated(this.#checkers.permits.released(uid, uid, 'FenceExpired', node));
  }

  /**
   * For what nobody may ever be let do: an operation that is wrong whatever happens meanwhile. If it commits, the rule
   * that forbids it is broken, also where the records alone would not show it. Unless the records say that it was right.
   */
  async mustReject(
    rule: SafetyRule,
    what: string,
    operation: Promise<Outcome<unknown>>,
    wasRight = () => false,
  ): Promise<void> {
    const outcome = await operation;
    this.#refused += 1;
    if (outcome.kind !== 'Committed' || wasRight()) return;
    this.#violated([
      {
        rule,
        revision: simulatedVersions.revisionOf(Number(outcome.revision)),
        message: `${what} was committed`,
      },
    ]);
  }

  /**
   * Schedules what the plan lets go wrong; crashed processes are started again when their time is over. Nobody sleeps for
   * longer than faults go on: what wakes up later would be one more of them, in a cell that is called calm.
   */
  scheduleFaults(untilMs: number): void {
    for (const event of this.options.plan.events)
      this.wire.after(event.atMs, () => {
        const forMs = Math.min(event.forMs, untilMs - event.atMs);
        if (!this.faults.isStopped) this.#strike(event.kind === 'pause' ? { ...event, forMs } : event);
      });
  }

  /** Cuts processes off from the store for a while; all of them unless some are named. */
  cutFromStore(forMs: number, processes: readonly SimProcess[] = this.processes, losesHistory = false): void {
    this.faults.count('storeCut');
    for (const { name } of processes) this.#cutFromStore.add(name);
    this.wire.after(forMs, () => {
      if (losesHistory) this.#loseHistory(processes);
      for (const { name } of processes) this.#cutFromStore.delete(name);
    });
  }

  /** These were cut off for so long that their connections are broken, and what they missed is compacted. */
  #loseHistory(processes: readonly SimProcess[]): void {
    this.faults.count('historyLost');
    for (const { name } of processes) this.#watchCuts.set(name, (this.#watchCuts.get(name) ?? 0) + 1);
    this.#store
      .compact(asRevision(this.history.revision))
      .catch((error: unknown) => this.fail(error as Error));
  }

  /**
   * The watches of a process deliver nothing until what is returned is called; then they are cut and resumed, or, where
   * the store has forgotten what they missed, begun anew with a list.
   */
  holdWatches({ name }: SimProcess): (isForgotten: boolean) => Promise<void> {
    this.faults.count('watch.cut');
    this.#watchesHeld.add(name);
    this.promptBinding.excuse(Number.POSITIVE_INFINITY);
    return async (isForgotten) => {
      this.promptBinding.promiseFrom(this.time.nowMs + resumedAfterMs);
      if (isForgotten) {
        await this.#store.compact(asRevision(this.history.revision));
      }
      this.#watchCuts.set(name, (this.#watchCuts.get(name) ?? 0) + 1);
      this.#watchesHeld.delete(name);
    };
  }

  /** Faults stop: cuts heal, whoever is down is started. */
  calm(): void {
    this.faults.stop();
    this.network.healAll();
    this.#cutFromStore.clear();
    for (const member of this.processes) member.start();
    this.promptBinding.promiseFrom(this.time.nowMs + calmAfterMs);
  }

  /** Lets time pass, until it is over or something is broken. */
  async run(untilMs: number): Promise<void> {
    // While faults go on it is looked often at who has to be started again.
    const stepMs = this.faults.isStopped ? 10_000 : 1_000;
    while (this.time.nowMs < untilMs && !this.isBroken) {
      const limitMs = Math.min(untilMs, this.time.nowMs + stepMs);
      await this.time.run(limitMs).catch((error: unknown) => this.fail(error as Error));
      // A crash by a fault of a call is mended by itself, as a supervisor of the machine would.
      for (const member of this.processes)
        if (member.life === undefined && !this.#isHeldDown.has(member))
          this.#restartLater(member, 200 + this.time.random.integer(3_000));
    }
  }

  checkWhole(): void {
    for (const checker of this.#checkers.all) this.#violated(checker.whole(this.history));
    this.witness.whole();
  }

  fail(error: Error): void {
    this.#failure ??= error;
  }

  report(violations: readonly Violation[]): void {
    this.#violated(violations);
  }

  readonly #isHeldDown = new Set<SimProcess>();

  #restartLater(member: SimProcess, ms: number): void {
    this.#isHeldDown.add(member);
    this.wire.after(ms, () => {
      this.#isHeldDown.delete(member);
      member.start();
    });
  }

  #strike({ kind, forMs, target, other, losesHistory }: FaultEvent): void {
    const member = this.processes[target % this.processes.length];
    const second = this.processes[other % this.processes.length];
    if (member === undefined || second === undefined) return;
    if (kind === 'storeCut') return this.cutFromStore(forMs, [member], losesHistory);
    this.faults.count(kind);
    switch (kind) {
      case 'crash':
        member.crash();
        this.#restartLater(member, forMs);
        return;
      case 'pause':
        member.life?.machine.suspend(forMs);
        return;
      case 'partition':
        this.network.cut(member, second);
        this.wire.after(forMs, () => this.network.heal(member, second));
        return;
      case 'drift':
        // A machine that stands still and one whose clock runs slowly look the same to others.
        member.life?.machine.suspend(Math.min(forMs, 1_500));
    }
  }

  #liveReach(member: SimProcess): Reach | undefined {
    const reach = this.reaches.get(member);
    return reach === undefined || reach.life.isOver ? undefined : reach;
  }

  async #transact(transaction: Transaction, by: string): Promise<TransactOutcome> {
    const outcome = await this.#store.transact(transaction);
    if (outcome.kind === 'Committed' && transaction.writes.length > 0) {
      const commit = this.history.apply(outcome.revision, this.time.nowMs, by, transaction.writes);
      this.#checkCommit(commit);
    }
    return outcome;
  }

  #checkCommit(commit: Commit): void {
    if (commit.changes.length === 0) return;
    this.commits.push(commit);
    const line = JSON.stringify([commit.revision, commit.atMs, commit.by, commit.changes]);
    this.#digest.update(line);
    this.options.onCommit?.(line);
    this.witness.onCommit(commit);
    for (const checker of this.#checkers.all) this.#violated(checker.onCommit(commit, this.history));
    this.#violated(this.promptBinding.onCommit(commit, this.history));
    if (this.history.commits % wholeEveryCommits === 0) this.checkWhole();
  }

  #violated(violations: readonly Violation[]): void {
    // A checker may find the same from what a commit touched and again from scratch: it is reported once.
    for (const violation of violations)
      if (
        this.violations.length < violationsMax &&
        this.options.shows?.test(violation.message) !== false &&
        !this.violations.some(({ rule, message }) => rule === violation.rule && message === violation.message)
      )
        this.violations.push(violation);
  }
}

function actorsWith(mutant: Mutant | undefined): ActorShape {
  switch (mutant?.kind) {
    case 'controller':
      return controllersWith[mutant.name];
    case 'duration':
      return wrongDurations[mutant.name];
    default:
      return rightActors;
  }
}
