import type { Driver } from '../../agent/driver.js';
import { HollowDriver } from '../../agent/drivers/hollow.js';
import { type HollowProfile, usualProfile } from '../../agent/drivers/hollow-profile.js';
import { NodeSession } from '../../agent/node-session.js';
import { Wheel } from '../../agent/wheel.js';
import { type BootInstant, msBetween, plusMs } from '../../env/instant.js';
import type { NodeBinding, NodeStreams } from '../../model/node-stream.js';
import type { NodeShape } from './node-shape.js';
import { remoteStreams } from './node-link.js';
import type { Life, SimProcess } from './sim-process.js';
import type { World } from './world.js';

/**
 * A machine with the real agent on it: its session over the simulated network, and a hollow driver that lives on the
 * machine itself, so that what runs outlives the agent and is ended in time although the agent is gone.
 */
export function startSessionNode(
  world: World,
  servers: readonly SimProcess[],
  shape: NodeShape,
  profile: Partial<HollowProfile> = {},
): SimProcess {
  const { name, isUnfenced: _, leaseSeconds: __, ...offer } = shape;
  const machine = new HollowDriver({
    profile: {
      ...usualProfile,
      ...{ startSeconds: [0.2, 2], readySeconds: [0.2, 2], stopSeconds: [0, 2] },
      ...profile,
    },
    ...{ wheel: new Wheel(world.wire), env: world.wire, believesTold: false },
    random: world.wire.random.stream(`machine ${name}`),
    onRun: (binding, isRunning) => note(world, name, binding, isRunning),
  });
  world.noteMachine(name, name);
  const member = world.addProcess(`agent-${name}`, async (life) => {
    const session = new NodeSession({
      streams: overheard(world, remoteStreams(world, life, servers)),
      driver: driverIn(life, world, name, machine),
      ...{ env: life.env, wheel: new Wheel(life.env) },
      offer: {
        ...offer,
        node: name,
        capacity: offer.allocatable,
        agent: { fencing: 'Supported' },
        journal: name,
      },
      onProblem: () => undefined,
    });
    session.start();
    await new Promise(() => undefined);
  });
  world.agents.set(name, member);
  world.isIdle.set(name, () => member.life === undefined && [...machine.list()].length === 0);
  return member;
}

/** Tells the world when the node hears that it shall stop something. */
export const overheard = (world: World, streams: NodeStreams): NodeStreams => ({
  register: (input) => streams.register(input),
  open: (hello, ears) =>
    streams.open(hello, {
      hasRoom: () => ears.hasRoom(),
      hear: (message) => {
        if (!world.actors.nodeHears(message)) return;
        if (message.kind === 'bindings')
          for (const { replica, stage, intent } of message.bindings)
            if (stage === 'Releasing' || intent !== undefined) world.noteStop(replica);
        ears.hear(message);
      },
    }),
});

/** The machine's driver as one life of its agent reaches it: events reach it while it lives, and clocks are its own. */
const driverIn = (life: Life, world: World, node: string, machine: HollowDriver): Driver => ({
  canFence: machine.canFence,
  attach: (onEvent) => machine.attach((event) => void life.env.after(0, () => onEvent(event))),
  adopt: (binding) => machine.adopt(binding),
  list: () => machine.list(),
  start: (binding) => machine.start(binding),
  stop: (uid, graceSeconds) => machine.stop(uid, graceSeconds),
  forget: () => machine.forget(),
  permit: ({ startUntil, killAt, overAt }) => {
    const onMachine = (at: BootInstant): BootInstant =>
      plusMs(world.wire.clock.boot(), msBetween(life.env.clock.boot(), at));
    const over = onMachine(overAt);
    world.notePermit(node, () => msBetween(world.wire.clock.boot(), over));
    machine.permit({ startUntil: onMachine(startUntil), killAt: onMachine(killAt), overAt: over });
  },
});

function note(world: World, node: string, binding: NodeBinding, running: boolean): void {
  const { replica, workload, slot, isFenced } = binding;
  const { tenant, uid } = replica;
  world.noteExecution({
    ...{ tenant, workload, slot, uid, running, atMs: world.time.nowMs },
    ...(isFenced && { fencedOn: node }),
  });
}
