import { NodeSession } from '../../agent/node-session.js';
import type { Permit, Runner } from '../../agent/runner.js';
import type { Machine } from '../../agent/supervisor/machine.js';
import { obey } from '../../agent/supervisor/obey.js';
import { permitOf } from '../../agent/supervisor/protocol.js';
import { RunMirror } from '../../agent/supervisor/run-mirror.js';
import { Supervisor } from '../../agent/supervisor/supervisor.js';
import { KeptDriver } from '../../agent/upkeep/kept-driver.js';
import { Wheel } from '../../agent/wheel.js';
import type { Env } from '../../env/env.js';
import { type BootInstant, bootInstant, msBetween, plusMs } from '../../env/instant.js';
import type { NodeBinding, NodeEars, NodeStreams } from '../../model/node-stream.js';
import type { EdgeConditions } from './edge-conditions.js';
import { mirrorRunner } from './mirror-runner.js';
import type { World } from './world.js';

const cutAtMs = 60_000;
const node = 'n';
const [first, successor] = ['first', 'successor'] as const;
const place = { tenant: 't', workload: 'w', slot: '0' } as const;

/**
 * The real agent and the real supervisor at the edge of what §8 allows, with a job that ignores being asked. The control
 * plane is played, as quick as it could ever be: it commits a renewal when it arrives, hears no more once the node is cut
 * off, and the moment the window is over the successor runs elsewhere.
 */
export class FenceEdge {
  readonly #renewedAtMs: number[] = [];
  #ears: NodeEars | undefined;
  /** When the first ended; undefined: it never did. */
  #endedMs: number | undefined;
  #succeededMs: number | undefined;
  #hasRun = false;

  constructor(
    private readonly world: World,
    private readonly conditions: EdgeConditions,
  ) {
    const { nodeRate, leaderRate, suspendedMs } = conditions;
    const computer = world.time.machine('node', { rate: nodeRate });
    const { env: leader } = world.time.machine('leader', { rate: leaderRate });
    for (const uid of [first, successor]) world.expectAtMostOne(uid);
    world.noteMachine(node, node);
    this.#startNode(
      world.fence.deadlinesOn === 'bootTime' ? computer.env : withoutSuspend(computer.env),
      leader,
      () => computer.env.clock.boot(),
    );
    if (suspendedMs > 0) world.wire.after(cutAtMs + 1_000, () => computer.suspend(suspendedMs));
  }

  /** By how much the first had ended when its successor began; undefined: it never ran. Negative: they overlapped. */
  get slackMs(): number | undefined {
    if (!this.#hasRun) return undefined;
    return (this.#succeededMs ?? Infinity) - (this.#endedMs ?? Infinity);
  }

  get hasSucceeded(): boolean {
    return this.#succeededMs !== undefined;
  }

  /** `boot`: the boot time of the machine, whatever clock the agent and the supervisor look at. */
  #startNode(env: Env, leader: Env, boot: () => BootInstant): void {
    const { world } = this;
    const supervisor: Supervisor = new Supervisor({
      ...{ machine: this.#machine(), journal: { append: (_, onDurable) => onDurable?.() }, env },
      onEvent: (event) => void env.after(0, () => mirror.happened(event)),
    });
    // It goes when it has passed on the last permit.
    const goneAtMs = cutAtMs + this.conditions.acknowledgedAfterMs;
    const mirror = new RunMirror((message) => {
      const isGone = this.conditions.isAgentGone && world.time.nowMs > goneAtMs;
      if (isGone) return;
      if (message.kind === 'permit') {
        const { overAt } = permitOf(message.permit);
        world.notePermit(node, () => msBetween(boot(), overAt));
      }
      obey(supervisor, message);
    });
    const wheel = new Wheel(env);
    new NodeSession({
      ...{ streams: this.#controlPlane(leader), env, wheel, onProblem: () => undefined },
      driver: new KeptDriver({
        ...{ runners: [this.#runner(mirrorRunner(mirror, env, node))], env, wheel },
        ...{ caller: { ask: () => undefined }, place: { node, region: 'r', zone: 'z' } },
      }),
      offer: { node, capacity: {}, allocatable: {}, agent: {}, journal: node },
    }).start();
  }

  /** One process that ignores being asked, and that a kill ends after the margin and the stall. */
  #machine(): Machine {
    let isDying = false;
    return {
      canFence: true,
      prepare: (_, ears) => {
        this.world.wire.after(1, () => ears.onGated({ bootId: 'boot', pid: 1, startTicks: 1 }));
        return {
          open: () => {
            this.#hasRun = true;
            this.#note(first, true);
          },
          terminate: () => true,
          kill: () => {
            if (isDying || this.world.fence.atTheDeadline === 'leftAlone') return;
            isDying = true;
            this.world.wire.after(this.conditions.killMs, () => {
              this.#endedMs = this.world.time.nowMs;
              if (this.#hasRun) this.#note(first, false);
              ears.onExit({ exitCode: 137, signal: 'SIGKILL' });
            });
          },
        };
      },
      adopt: () => undefined,
      forget: () => undefined,
    };
  }

  #runner(runner: Runner): Runner {
    const { permitCountsFrom, longerSeconds } = this.world.fence;
    const lateMs = permitCountsFrom === 'sent' ? 0 : this.conditions.acknowledgedAfterMs;
    const later = ({ startUntil, killAt, overAt }: Permit): Permit => ({
      startUntil: plusMs(startUntil, lateMs),
      killAt: plusMs(killAt, lateMs + longerSeconds.killAt * 1_000),
      overAt: plusMs(overAt, lateMs + longerSeconds.overAt * 1_000),
    });
    return { ...runner, permit: (permit) => runner.permit(later(permit)) };
  }

  #controlPlane(leader: Env): NodeStreams {
    const { wire } = this.world;
    return {
      register: () =>
        Promise.resolve({ kind: 'Committed', result: { epoch: { cell: 1, number: 1 } }, revision: '1' }),
      open: (hello, ears) => {
        const isFirst = this.#ears === undefined;
        this.#ears = ears;
        this.#renewed(hello.id, leader);
        if (isFirst) wire.after(this.conditions.acknowledgedAfterMs + 10, () => this.#tell());
        return {
          say: (message) => {
            if (message.kind === 'renew') this.#renewed(message.id, leader);
          },
          resume: () => undefined,
          close: () => undefined,
        };
      },
    };
  }

  #renewed(id: number, leader: Env): void {
    const { world, conditions } = this;
    if (world.time.nowMs > cutAtMs) return;
    this.#renewedAtMs.push(world.time.nowMs);
    this.#watchLease(leader);
    world.wire.after(conditions.acknowledgedAfterMs, () =>
      this.#ears?.hear({ kind: 'renewed', id, fence: world.fence.told, renewSeconds: 5 }),
    );
  }

  /** What was on its way when the node was cut off arrives when little of the permit is left. */
  #tell(): void {
    const { toldBeforeEndMs, nodeRate } = this.conditions;
    const { wire, time, fence } = this.world;
    const hear = (bindings: readonly NodeBinding[]): void =>
      this.#ears?.hear({ kind: 'bindings', begins: true, ends: true, bindings, gone: [] });
    if (toldBeforeEndMs === undefined) return hear([binding]);
    hear([]);
    wire.after(cutAtMs + 20_000 - time.nowMs, () => {
      const permitMs = fence.told.permitSeconds * 1_000;
      const atMs = (this.#renewedAtMs.at(-1) ?? 0) + (permitMs - toldBeforeEndMs) / nodeRate;
      wire.after(atMs - time.nowMs, () => hear([binding]));
    });
  }

  #watchLease(leader: Env): void {
    const { fence, time } = this.world;
    const seen = this.#renewedAtMs.length;
    const [last = 0, earlier = last] = this.#renewedAtMs.toReversed();
    const countedMs = fence.windowCountsFrom === 'lastRenewal' ? 0 : last - earlier;
    leader.after(fence.windowSeconds * 1_000 - countedMs, () => {
      if (this.#renewedAtMs.length !== seen || this.#succeededMs !== undefined) return;
      this.#succeededMs = time.nowMs;
      this.world.noteFenceExpired(first, node);
      this.#note(successor, true);
    });
  }

  #note(uid: string, running: boolean): void {
    this.world.noteExecution({
      ...{ ...place, uid, running, atMs: this.world.time.nowMs },
      ...(uid === first && { fencedOn: node }),
    });
  }
}

const binding: NodeBinding = {
  ...{ replica: { tenant: place.tenant, name: 'w-0-1', uid: first }, workload: place.workload },
  ...{ slot: place.slot, revision: 'r', fence: '7', type: 'Service', isFenced: true },
  ...{ stage: 'Bound', version: 10, template: { run: { process: { command: ['work'] } } } },
};

/** A machine whose boot time stands still while it is suspended, as monotonic time does. */
function withoutSuspend(env: Env): Env {
  const begun = env.clock.monotonic();
  return {
    ...env,
    clock: { ...env.clock, boot: () => bootInstant(msBetween(begun, env.clock.monotonic())) },
  };
}
