import { NodeSession } from '../agent/node-session.js';
import type { Runner } from '../agent/runner.js';
import type { Machine } from '../agent/supervisor/machine.js';
import { obey } from '../agent/supervisor/obey.js';
import { RunMirror } from '../agent/supervisor/run-mirror.js';
import { runSpecOf } from '../agent/supervisor/run-spec.js';
import { Supervisor } from '../agent/supervisor/supervisor.js';
import { KeptDriver } from '../agent/upkeep/kept-driver.js';
import { Wheel } from '../agent/wheel.js';
import type { Env } from '../env/env.js';
import { bootInstant, msBetween, plusMs } from '../env/instant.js';
import { VirtualTime } from '../env/virtual.js';
import { fenceContract } from '../model/fence-contract.js';
import { leastWindowSeconds } from '../model/fence-problem.js';
import type { NodeBinding, NodeEars, NodeStreams } from '../model/node-stream.js';
import type { FenceRecord } from '../model/records.js';

/** What is left out of the fence on purpose. Nothing is: the fence as it is. */
export interface FenceMutant {
  /** What agent and supervisor are told. */
  readonly fence?: Partial<FenceRecord>;
  /** What the control plane waits. */
  readonly windowSeconds?: number;
  /** The permit counts from when it was acknowledged, not from when the renewal was sent. */
  readonly isFromAcknowledgement?: boolean;
  /** Deadlines are kept on a clock that does not count suspend. */
  readonly isOnMonotonicTime?: boolean;
  /** The control plane counts from the renewal before the last. */
  readonly isFromEarlierRenewal?: boolean;
  /** Nobody kills; there is only the agent that asks. */
  readonly isUnkilled?: boolean;
}

const usual: FenceRecord = fenceContract;
/** The smallest window that the inequality allows. */
export const tightWindow = leastWindowSeconds(usual);

const acknowledgedAfterMs = 3_000;
const cutAtMs = 60_000;
const leaderIsFast = 1 + usual.driftMax;
const nodeIsSlow = 1 - usual.driftMax;

/**
 * The worst that §8 allows, all at once: the machine's clock is as slow and the leader's as fast as they may be, a kill takes the
 * whole margin and stalls as long as it may, the agent is dead and the job would ignore it, and the last renewal that
 * arrived was committed at once and acknowledged late. Gives by how many milliseconds the job ended before its successor began;
 * negative: they overlapped.
 */
export async function fenceSlackMs(
  mutant: FenceMutant = {},
  { startsLate = false, suspendedMs = 0 } = {},
): Promise<number> {
  const time = new VirtualTime({ seed: 1 });
  const computer = time.machine('node', { rate: nodeIsSlow });
  const { env: leader } = time.machine('leader', { rate: leaderIsFast });
  const { env: wire } = time.machine('wire');
  const fence = { ...usual, windowSeconds: tightWindow, ...mutant.fence };
  const env = mutant.isOnMonotonicTime === true ? withoutSuspend(computer.env) : computer.env;
  let endedMs = 0;
  let releasedMs: number | undefined;

  const machine = slowlyKilling(wire, mutant.isUnkilled === true, () => (endedMs = time.nowMs));
  const supervisor: Supervisor = new Supervisor({
    ...{ machine, journal: { append: (_, onDurable) => onDurable?.() }, env },
    onEvent: (event) => void env.after(0, () => mirror.happened(event)),
  });
  const mirror = new RunMirror((message) => {
    // The agent dies when all is said that it can say: only the supervisor is left to end the job.
    const isAgentDead = !startsLate && time.nowMs > cutAtMs + acknowledgedAfterMs;
    if (!isAgentDead && message.kind !== 'hello' && message.kind !== 'end') obey(supervisor, message);
  });
  const wheel = new Wheel(env);
  const binding: NodeBinding = {
    ...{
      replica: { tenant: 't', name: 'w-0-1', uid: 'u' },
      workload: 'w',
      slot: '0',
      revision: 'r',
      fence: '7',
    },
    ...{ type: 'Service', isFenced: true, stage: 'Bound', version: 10 },
    template: { run: { process: { command: ['work'] } } },
  };

  const commits: number[] = [];
  const streams = controlPlane();
  const startedLateMs = (fence.permitSeconds - 0.5) * 1_000;
  new NodeSession({
    ...{ streams, env, wheel, onProblem: () => undefined },
    driver: new KeptDriver({
      ...{ runners: [runner()], env, wheel, caller: { ask: () => undefined } },
      place: { node: 'n', region: 'r', zone: 'z' },
    }),
    offer: { node: 'n', capacity: {}, allocatable: {}, agent: {} },
  }).start();
  if (suspendedMs > 0) wire.after(cutAtMs + 1_000, () => computer.suspend(suspendedMs));
  wire.after(400_000, () => undefined);
  await time.run(400_000);
  if (endedMs === 0) endedMs = Infinity;
  if (releasedMs === undefined) throw new Error('it was never released');
  return releasedMs - endedMs;

  /** Commits a renewal when it arrives, acknowledges it late, and releases when the lease has stood unchanged for W. */
  function controlPlane(): NodeStreams {
    let ears: NodeEars | undefined;
    const renewed = (id: number): void => {
      if (time.nowMs > cutAtMs) return;
      commits.push(time.nowMs);
      watchLease();
      wire.after(acknowledgedAfterMs, () => ears?.hear({ kind: 'renewed', id, fence, renewSeconds: 5 }));
    };
    return {
      register: () =>
        Promise.resolve({ kind: 'Committed', result: { epoch: { cell: 1, number: 1 } }, revision: '1' }),
      open: (hello, given) => {
        const isFirst = ears === undefined;
        ears = given;
        renewed(hello.id);
        if (isFirst) wire.after(acknowledgedAfterMs + 10, tell);
        return {
          say: (message) => {
            if (message.kind === 'renew') renewed(message.id);
          },
          resume: () => undefined,
          close: () => undefined,
        };
      },
    };

    function tell(): void {
      const hear = (bindings: readonly NodeBinding[]): void =>
        ears?.hear({ kind: 'bindings', isWhole: true, bindings, gone: [] });
      if (!startsLate) return hear([binding]);
      hear([]);
      // What was on its way when the node was cut off: it arrives when the permit has nearly ended.
      wire.after(cutAtMs + 20_000, () => {
        const last = commits.at(-1) ?? 0;
        wire.after(last + startedLateMs / nodeIsSlow - time.nowMs, () => hear([binding]));
      });
    }
  }

  function watchLease(): void {
    const seen = commits.length;
    const windowMs = (mutant.windowSeconds ?? tightWindow) * 1_000;
    const last = commits.at(-1) ?? 0;
    const from = mutant.isFromEarlierRenewal === true ? (commits.at(-2) ?? last) : last;
    leader.after(windowMs - (last - from), () => {
      if (commits.length === seen) releasedMs ??= time.nowMs;
    });
  }

  function runner(): Runner {
    const shiftMs = mutant.isFromAcknowledgement === true ? acknowledgedAfterMs : 0;
    return {
      ...{ name: 'process', canFence: true },
      attach: (onEvent) => mirror.attach((event) => void env.after(0, () => onEvent(event))),
      list: () => mirror.list(),
      start: (launch) => mirror.start(runSpecOf(launch, { node: 'n' })),
      stop: (uid, graceSeconds) => mirror.stop(uid, graceSeconds),
      forget: (uid) => mirror.forget(uid),
      permit: ({ startUntil, killAt, overAt }) =>
        mirror.permit({
          startUntil: plusMs(startUntil, shiftMs),
          killAt: plusMs(killAt, shiftMs),
          overAt: plusMs(overAt, shiftMs),
        }),
      exec: () => {
        throw new Error('nobody asks for that');
      },
      usage: () => undefined,
    };
  }
}

/** One process that ignores being asked, and that a kill ends after the margin and the longest stall. */
function slowlyKilling(wire: Env, isUnkilled: boolean, onEnd: () => void): Machine {
  let isDying = false;
  return {
    canFence: true,
    prepare: (_, ears) => {
      wire.after(1, () => ears.onGated({ bootId: 'boot', pid: 1, startTicks: 1 }));
      return {
        open: () => undefined,
        terminate: () => true,
        kill: () => {
          if (isDying || isUnkilled) return;
          isDying = true;
          wire.after((usual.killMarginSeconds + usual.stallSecondsMax) * 1_000, () => {
            onEnd();
            ears.onExit({ exitCode: 137, signal: 'SIGKILL' });
          });
        },
      };
    },
    adopt: () => undefined,
    forget: () => undefined,
  };
}

/** A machine whose boot time stands still while it is suspended, as monotonic time does. */
function withoutSuspend(env: Env): Env {
  const begun = env.clock.monotonic();
  return {
    ...env,
    clock: { ...env.clock, boot: () => bootInstant(msBetween(begun, env.clock.monotonic())) },
  };
}
