import type { Permit } from '../../agent/runner.js';
import { permitOf, type RunOrder } from '../../agent/supervisor/protocol.js';
import type { RunFacts } from '../../agent/supervisor/machine.js';
import type {
  GateEars,
  JournalEntry,
  Machine,
  ProcessIdentity,
  RunExit,
  RunHandle,
  RunJournal,
  RunSpec,
} from '../../agent/supervisor/machine.js';
import { MemoryRefusals } from '../../agent/refusals.js';
import type { Clock, Env } from '../../env/env.js';
import { msBetween } from '../../env/instant.js';
import type { Random } from '../../env/random.js';
import { fenceContract } from '../../model/fence-contract.js';
import type { Life } from './sim-process.js';
import type { World } from './world.js';

interface Run {
  readonly facts: RunFacts;
  readonly identity: ProcessIdentity;
  readonly isStubborn: boolean;
  /** Whose child it is, or who has adopted it. */
  parent: Life;
  isOpen: boolean;
  isDying: boolean;
  onExit: (exit: RunExit) => void;
}

// All that §8 allows between the order to kill and the end: the margin that the supervisor leaves, and a stall.
const killMsMax = (fenceContract.killMarginSeconds + fenceContract.stallSecondsMax) * 1_000 - 500;

/** The argument of a command that does not end when it is asked to. */
export const ignoresStop = '--ignores-stop';

/**
 * A simulated machine: its processes, its disk and its boot time, which agents and supervisors share and which outlive them.
 * What executes is told to the world, which knows what may not.
 */
export class Computer {
  /** On disk: what supervisors have written down, and what agents refuse. */
  readonly journal: JournalEntry[] = [];
  readonly refusals = new MemoryRefusals();
  readonly #processes = new Map<string, Run>();
  readonly #clock: Clock;
  readonly #random: Random;
  // How long the present life of its supervisor has lasted, by the clock of that process.
  #machineMs: () => number = () => 0;
  #permit: Permit | undefined;
  #boots = 1;
  #pids = 1;

  constructor(
    private readonly world: World,
    readonly name: string,
  ) {
    this.#random = world.wire.random.stream(`computer ${name}`);
    // Its clock is as wrong as §8 allows, and no more.
    const rate = 1 + (this.#random.float() * 2 - 1) * fenceContract.driftMax;
    this.#clock = world.time.machine(`computer ${name}`, { rate }).env.clock;
  }

  get isIdle(): boolean {
    return this.#processes.size === 0;
  }

  /** How many executions there are that only a permit allows. */
  get fencedRuns(): number {
    return [...this.#processes.values()].filter(({ facts, isOpen }) => facts.isFenced && isOpen).length;
  }

  /** Its supervisor hears what it is to do. A permit counts on the boot time of this machine. */
  ordered(order: RunOrder): void {
    if (order.kind === 'stop')
      this.world.noteStopAsked({ uid: order.uid, machineMs: this.#machineMs() }, order.graceSeconds * 1_000);
    if (order.kind !== 'permit') return;
    this.#permit = permitOf(order.permit);
    const { overAt } = this.#permit;
    this.world.notePermit(this.name, () => msBetween(this.#clock.boot(), overAt));
  }

  /** A process of this machine has the machine's boot time. */
  envOf(life: Life): Env {
    const { env } = life;
    return { ...env, clock: { ...env.clock, boot: () => this.#clock.boot() } };
  }

  /** The machine as one life of its supervisor has it. The kernel sees when that life ends. */
  machineOf(life: Life): Machine {
    life.onEnd(() => this.#supervisorDied(life));
    const begun = life.env.clock.monotonic();
    this.#machineMs = () => msBetween(begun, life.env.clock.monotonic());
    return {
      canFence: true,
      prepare: (spec, ears) => this.#prepare(life, spec, ears),
      adopt: (facts, identity, ears) => this.#adopt(life, facts, identity, ears),
      forget: () => undefined,
    };
  }

  journalOf(life: Life): RunJournal {
    return {
      append: (entry, onDurable) => {
        this.journal.push(entry);
        if (onDurable !== undefined) life.env.after(1 + this.#random.integer(15), () => onDurable());
      },
    };
  }

  /** Everything stops at once; what is on disk stays. */
  reboot(): void {
    this.#boots += 1;
    for (const uid of [...this.#processes.keys()]) this.#end(uid, undefined);
  }

  #prepare(life: Life, spec: RunSpec, ears: GateEars): RunHandle {
    const { uid, execution, isFenced, labels } = spec;
    const identity = { bootId: `boot-${this.#boots}`, pid: (this.#pids += 1), startTicks: this.#pids };
    const run: Run = {
      ...{
        facts: { uid, execution, isFenced, labels },
        identity,
        parent: life,
        isOpen: false,
        isDying: false,
      },
      ...{ isStubborn: this.#random.chance(0.15) || spec.command.includes(ignoresStop) },
      onExit: (exit) => ears.onExit(exit),
    };
    this.#processes.set(uid, run);
    life.env.after(5 + this.#random.integer(40), () => {
      if (this.#processes.get(uid) === run && !run.isDying) ears.onGated(identity);
    });
    return this.#handle(run);
  }

  #adopt(
    life: Life,
    { uid }: RunFacts,
    { bootId, pid }: ProcessIdentity,
    { onExit }: Pick<GateEars, 'onExit'>,
  ): RunHandle | undefined {
    const run = this.#processes.get(uid);
    if (run?.identity.pid !== pid || run.identity.bootId !== bootId) return undefined;
    run.parent = life;
    run.onExit = () => onExit({});
    return this.#handle(run);
  }

  #handle(run: Run): RunHandle {
    const { uid } = run.facts;
    const isThere = (): boolean => this.#processes.get(uid) === run;
    return {
      open: () => {
        if (!isThere() || run.isDying) return;
        run.isOpen = true;
        this.#note(run.facts, true);
        this.#mayExit(run);
      },
      terminate: () => {
        if (!isThere() || !run.isOpen) return false;
        if (!run.isStubborn) this.#endIn(run, this.#random.integer(2_000), { exitCode: 143 });
        return true;
      },
      kill: () => this.#kill(run),
    };
  }

  #kill(run: Run): void {
    if (run.isDying) return;
    run.isDying = true;
    const isFenceOver =
      run.facts.isFenced &&
      this.#permit !== undefined &&
      msBetween(this.#clock.boot(), this.#permit.killAt) <= 0;
    if (run.isOpen && !isFenceOver) this.world.noteKill({ uid: run.facts.uid, machineMs: this.#machineMs() });
    const ms = this.#random.chance(0.2) ? this.#random.integer(killMsMax) : this.#random.integer(50);
    this.#endIn(run, ms, { exitCode: 137, signal: 'SIGKILL' });
  }

  /** Some end by themselves, while things go wrong. */
  #mayExit(run: Run): void {
    if (this.world.faults.isStopped || !this.#random.chance(0.05)) return;
    this.#endIn(run, this.#random.integer(60_000), { exitCode: this.#random.integer(2) });
  }

  #supervisorDied(life: Life): void {
    for (const uid of this.#processes.keys()) this.world.forgetStop(uid);
    for (const run of this.#processes.values())
      if (run.parent === life && (run.facts.isFenced || !run.isOpen)) {
        run.isDying = true;
        this.#endIn(run, 1 + this.#random.integer(20), {});
      }
  }

  #endIn(run: Run, ms: number, exit: RunExit): void {
    this.world.wire.after(ms, () => {
      if (this.#processes.get(run.facts.uid) === run) this.#end(run.facts.uid, exit);
    });
  }

  #end(uid: string, exit: RunExit | undefined): void {
    const run = this.#processes.get(uid);
    if (run === undefined) return;
    this.#processes.delete(uid);
    this.world.forgetStop(uid);
    if (run.isOpen) this.#note(run.facts, false);
    if (exit !== undefined && !run.parent.isOver) run.parent.env.after(1, () => run.onExit(exit));
  }

  #note({ uid, isFenced, labels: { tenant, workload, slot } }: RunFacts, running: boolean): void {
    this.world.noteExecution({
      ...{ tenant, workload, slot, uid, running, atMs: this.world.time.nowMs },
      ...(isFenced && { fencedOn: this.name }),
    });
  }
}
