import { msBetween } from '../../env/instant.js';
import { fenceContract } from '../../model/fence-contract.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Authority, Report } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import type { Epoch } from '../../model/records.js';
import { nodeLeaseName } from '../../model/records.js';
import type { Stage } from '../../model/stages.js';
import { awaitsWithdrawal, withdrawWaitMs } from '../../model/withdrawal.js';
import type { Life, SimProcess } from './sim-process.js';
import type { NodeShape } from './node-shape.js';
import type { World } from './world.js';

/** What runs on a simulated machine. It outlives the agent, as real work does. */
interface Running {
  readonly replica: Replica;
  readonly isFenced: boolean;
  stage: 'Starting' | 'Ready';
}

export interface AgentManners {
  readonly isCareless: boolean;
  /** How often it looks at what is bound to its node, if not as often as usual. */
  readonly lookMs?: number;
  /** The chance that something ends by itself at a look. */
  readonly exits: number;
  /** While faults go on: at which stages of the replicas of a workload the agent neither does nor says anything. */
  readonly ignores?: Readonly<Record<string, readonly Stage[]>>;
}

/** What an agent might say next of a replica at a stage. */
const plausible: Partial<Record<Stage, Stage>> = {
  Bound: 'Starting',
  Starting: 'Ready',
  Ready: 'Failed',
  Serving: 'Failed',
  Unknown: 'Ready',
  Releasing: 'Released',
};
const allStages: readonly Stage[] = [
  'Starting',
  'Ready',
  'Serving',
  'Succeeded',
  'Failed',
  'Released',
  'Queued',
  'Unknown',
];

const leaseSecondsUsual = 40;
const lookMsUsual = 600;
const renewMs = 5_000;

/**
 * An agent as a script: registers, renews, starts and stops what it is told, and reports. Careless on purpose: it
 * says things twice, late, under epochs that are over, about replicas of others. What it really runs is honest, and
 * is told to the world.
 */
class ScriptedAgent {
  readonly member: SimProcess;
  readonly #running = new Map<string, Running>();
  // [S5] Kept on the disk of the machine: replicas that ended here or must never run here. A list from an old cache may
  // still show them as bound.
  readonly #ended = new Set<string>();
  // Until when an acknowledged renewal permits AtMostOne work, on the machine's boot clock; kept by the supervisor.
  #permittedUntilMs = 0;
  #epochs: Epoch[] = [];
  #registrations = 0;
  // The machine came back with less than it had; when nothing goes wrong any more it has everything again.
  #offersLess = false;
  #offersOther = false;

  constructor(
    private readonly world: World,
    private readonly servers: readonly SimProcess[],
    private shape: NodeShape,
    private readonly options: AgentManners,
  ) {
    this.member = world.addProcess(`agent-${shape.name}`, (life) => this.#main(life));
    this.#supervise();
    world.agents.set(shape.name, this.member);
    world.noteMachine(shape.name, shape.name);
    world.notePermit(shape.name, () => this.#permittedUntilMs - world.time.nowMs);
    world.switchOff.set(shape.name, () => {
      this.member.crash();
      for (const uid of this.#running.keys()) this.#end(uid);
    });
    world.offer.set(shape.name, (change) => {
      this.shape = { ...this.shape, ...change };
      this.#offersOther = true;
    });
    world.isIdle.set(shape.name, () => this.member.life === undefined && this.#running.size === 0);
  }

  async #main(life: Life): Promise<void> {
    const authority = this.world.remoteAuthority(life, this.servers);
    const { env } = life;
    const { lookMs = lookMsUsual } = this.options;
    let epoch = await this.#register(life, authority);
    let renewedAt = env.clock.monotonic();
    let isRenewing = false;
    for (;;) {
      // Nobody is in a hurry once nothing goes wrong any more.
      await env.sleep((this.world.faults.isStopped ? 2_000 : 0) + lookMs / 2 + env.random.integer(lookMs));
      if (!isRenewing && msBetween(renewedAt, env.clock.monotonic()) >= renewMs) {
        isRenewing = true;
        renewedAt = env.clock.monotonic();
        const sentMs = this.world.time.nowMs;
        const holder = this.shape.name;
        const outcome = await authority
          .renew({ name: nodeLeaseName(holder), holder, epoch })
          .catch(() => undefined);
        if (outcome?.kind === 'Committed') this.#permitted(sentMs);
        if (outcome?.kind === 'Rejected') epoch = await this.#register(life, authority);
        isRenewing = false;
      }
      const bindings = await this.world.ask(life, this.servers, ({ cache }) =>
        [...cache.list('Replica')]
          .map(({ object }) => object as Replica)
          .filter(({ status }) => status?.binding?.node === this.shape.name),
      );
      for (const replica of bindings ?? []) await this.#look(life, authority, epoch, replica);
      if (this.#offersOther) {
        this.#offersOther = false;
        epoch = await this.#register(life, authority);
      }
      if (this.#offersLess && this.world.faults.isStopped) {
        this.#offersLess = false;
        epoch = await this.#register(life, authority);
      }
      if (!this.options.isCareless || this.world.faults.isStopped) continue;
      if (env.random.chance(0.15)) await this.#beCareless(life, authority).catch(() => undefined);
      const isHeldOn = [...this.world.history.under('/s/Reservation/')].some(([, value]) => {
        const { status } = value as Pick<Reservation, 'status'>;
        return status?.state === 'Held' && status.charge?.node === this.shape.name;
      });
      // For no reason: everything it says from now on is said under another epoch. More often while there are holds, and
      // then with less than is held.
      if (env.random.chance(isHeldOn ? 0.04 : 0.01)) {
        this.#offersLess = isHeldOn && env.random.chance(0.7);
        epoch = await this.#register(life, authority);
      }
    }
  }

  async #register(life: Life, authority: Authority): Promise<Epoch> {
    this.#registrations += 1;
    const operation = `register/${this.shape.name}/${this.#registrations}`;
    const {
      name,
      isUnfenced,
      drivers,
      leaseSeconds = leaseSecondsUsual,
      ...offer
    } = this.#offersLess ? lessOf(this.shape) : this.shape;
    const agent = {
      ...(isUnfenced === true && { fencing: 'Unsupported' as const }),
      ...(drivers !== undefined && { drivers }),
    };
    for (;;) {
      const sentMs = this.world.time.nowMs;
      const outcome = await authority
        .register({
          ...offer,
          node: name,
          capacity: offer.allocatable,
          agent,
          leaseSeconds,
          journal: `disk of ${name}`,
          operation,
        })
        .catch(() => undefined);
      if (outcome?.kind === 'Committed' || outcome?.kind === 'AlreadyCommitted') {
        this.#permitted(sentMs);
        this.#epochs.push(outcome.result.epoch);
        return outcome.result.epoch;
      }
      await life.env.sleep(500 + life.env.random.integer(1_000));
    }
  }

  /** Brings one replica a step nearer to where it should be, and says where it is. */
  async #look(life: Life, authority: Authority, epoch: Epoch, replica: Replica): Promise<void> {
    const { env } = life;
    const { uid } = replica.metadata;
    const running = this.#running.get(uid);
    const ignored = this.options.ignores?.[replica.spec.workload] ?? [];
    if (!this.world.faults.isStopped && ignored.includes(replica.status?.stage ?? 'Queued')) return;
    switch (replica.status?.stage) {
      case 'Bound':
      case 'Starting':
        if (this.#ended.has(uid)) await this.#report(life, authority, epoch, replica, 'Failed', 'Exited', 1);
        else if (running === undefined) {
          if (!this.#start(replica)) return;
          await this.#report(life, authority, epoch, replica, 'Starting', 'Started');
        } else if (replica.status.stage === 'Bound')
          await this.#report(life, authority, epoch, replica, 'Starting', 'Started');
        else if (env.random.chance(0.5)) {
          running.stage = 'Ready';
          await this.#report(life, authority, epoch, replica, 'Ready', 'ProbePassed');
        }
        return;
      case 'Ready':
      case 'Serving':
        if (
          running === undefined ||
          (!this.world.faults.isStopped && env.random.chance(this.options.exits))
        ) {
          this.#end(uid);
          const ended = env.random.chance(0.5) ? 'Succeeded' : 'Failed';
          await this.#report(life, authority, epoch, replica, ended, 'Exited', 1);
        }
        return;
      case 'Releasing':
        if (this.#isHeld(replica)) return;
        this.#end(uid);
        await this.#report(life, authority, epoch, replica, 'Released', 'Stopped');
        return;
      case 'Unknown':
        if (running === undefined) this.#end(uid);
        // What it was asked to stop has not failed, as a real agent has it.
        if (running === undefined && replica.status.intent !== undefined)
          await this.#report(life, authority, epoch, replica, 'Released', 'NotRunning');
        else if (running === undefined)
          await this.#report(life, authority, epoch, replica, 'Failed', 'NotRunning', 1);
        else await this.#report(life, authority, epoch, replica, running.stage, 'StillThere');
        return;
      default:
        // It has ended, whatever runs here.
        this.#end(uid);
    }
  }

  /** As a server would: it is not told to stop while clients may be sent to it, for a bounded time. */
  #isHeld(replica: Replica): boolean {
    if (!awaitsWithdrawal(replica)) return false;
    const sinceMs = this.world.releasedAtMs(replica) ?? this.world.time.nowMs;
    return this.world.time.nowMs - sinceMs < withdrawWaitMs;
  }

  #permitted(sentMs: number): void {
    this.#permittedUntilMs = sentMs + fenceContract.permitSeconds * 1_000;
  }

  #start(replica: Replica): boolean {
    const { uid } = replica.metadata;
    const isFenced = replica.status?.binding?.isFenced === true;
    // Nothing of the kind starts when the permit is nearly over.
    const graceMs = fenceContract.graceSeconds * 1_000;
    if (isFenced && this.world.time.nowMs > this.#permittedUntilMs - graceMs) return false;
    this.#running.set(uid, { replica, isFenced, stage: 'Starting' });
    this.#note(replica, isFenced, true);
    return true;
  }

  /** Ends the replica on this machine for good. */
  #end(uid: string): void {
    this.#ended.add(uid);
    const running = this.#running.get(uid);
    if (running === undefined) return;
    this.#running.delete(uid);
    this.#note(running.replica, running.isFenced, false);
  }

  #note({ metadata, spec }: Replica, isFenced: boolean, running: boolean): void {
    this.world.noteExecution({
      tenant: metadata.namespace ?? '',
      workload: spec.workload,
      slot: spec.slot,
      uid: metadata.uid,
      running,
      atMs: this.world.time.nowMs,
      ...(isFenced && { fencedOn: this.shape.name }),
    });
  }

  async #report(
    life: Life,
    authority: Authority,
    epoch: Epoch,
    replica: Replica,
    stage: Stage,
    reason: string,
    exitCode?: number,
  ): Promise<void> {
    const report: Report = {
      node: this.shape.name,
      nodeEpoch: epoch,
      replica: refOf(replica),
      fence: replica.status?.binding?.fence ?? '',
      ...{ stage, reason },
      operation: `report/${replica.metadata.uid}/${stage}/${replica.status?.transitions?.at(-1)?.operation ?? ''}`,
      ...(exitCode !== undefined && { exitCode }),
    };
    const times = this.options.isCareless && life.env.random.chance(0.1) ? 2 : 1;
    for (let time = 0; time < times; time++) await authority.report(report).catch(() => undefined);
  }

  /** Says what it has no right to say: the authority must not listen. */
  async #beCareless(life: Life, authority: Authority): Promise<void> {
    const { random } = life.env;
    const all = await this.world.ask(life, this.servers, ({ cache }) =>
      [...cache.list('Replica')].map(({ object }) => object as Replica),
    );
    const replica = all === undefined || all.length === 0 ? undefined : random.pick(all);
    const epoch = this.#epochs.length === 0 ? undefined : random.pick(this.#epochs);
    if (replica?.status?.binding === undefined || epoch === undefined) return;
    const { stage } = replica.status;
    const isOwn = replica.status.binding.node === this.shape.name;
    const report = {
      node: this.shape.name,
      replica: refOf(replica),
      fence: replica.status.binding.fence,
      // Something that would be right if the right one said it.
      stage: random.chance(0.7) ? (plausible[stage] ?? 'Released') : random.pick(allStages),
      reason: 'Careless',
      operation: `careless/${life.env.uuid()}`,
    };
    const current = this.#epochs.at(-1) ?? epoch;
    const { world } = this;
    switch (random.integer(3)) {
      case 0:
        return world.mustReject(
          'S8',
          `a report of ${report.replica.name} under an epoch that is over`,
          authority.report({ ...report, nodeEpoch: { ...epoch, number: current.number - 1 } }),
        );
      case 1:
        return world.mustReject(
          'S8',
          `a report of ${report.replica.name} with a fence that is not its own`,
          authority.report({ ...report, nodeEpoch: current, fence: `${report.fence}0` }),
        );
      default:
        // About others under an epoch that is right; of its own only what the graph must catch.
        await authority.report({ ...report, nodeEpoch: current, ...(isOwn && { stage: 'Serving' }) });
    }
  }

  /** [S5] The supervisor kills AtMostOne work in time when no renewal permits it any more. It survives its agent. */
  #supervise(): void {
    const look = (): void => {
      const killMs = fenceContract.killMarginSeconds * 1_000;
      if (this.world.time.nowMs >= this.#permittedUntilMs - killMs)
        for (const [uid, { isFenced }] of this.#running) if (isFenced) this.#end(uid);
      this.world.wire.after(500, look);
    };
    this.world.wire.after(500, look);
  }
}

/** Adds it to the world; it starts with all others. */
export const startAgent = (...parts: ConstructorParameters<typeof ScriptedAgent>): SimProcess =>
  new ScriptedAgent(...parts).member;

/** A node without its devices and with one core. */
const lessOf = (shape: NodeShape): NodeShape => ({
  ...shape,
  devices: {},
  allocatable: { cpu: '1', memory: '1Gi' },
});
