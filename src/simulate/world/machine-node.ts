import { NodeSession } from '../../agent/node-session.js';
import { obey } from '../../agent/supervisor/obey.js';
import { pastRuns } from '../../agent/supervisor/past-runs.js';
import type { RunOrder } from '../../agent/supervisor/protocol.js';
import { RunMirror } from '../../agent/supervisor/run-mirror.js';
import { Supervisor } from '../../agent/supervisor/supervisor.js';
import { KeptDriver } from '../../agent/upkeep/kept-driver.js';
import { Wheel } from '../../agent/wheel.js';
import type { NodeShape } from './node-shape.js';
import { Computer } from './computer.js';
import { mirrorRunner } from './mirror-runner.js';
import { remoteStreams } from './node-link.js';
import { overheard } from './session-node.js';
import type { Life, SimProcess } from './sim-process.js';
import type { World } from './world.js';

export interface MachineNode {
  readonly agent: SimProcess;
  readonly supervisor: SimProcess;
  /** How many executions there are that only a permit allows. */
  fencedRuns(): number;
  /** Both and all that runs stop at once; the world starts the two again. */
  reboot(): void;
  /** Nothing runs for a while, boot time goes on. */
  suspend(ms: number): void;
}

/** The path of a probe that never passes. */
export const neverPath = '/never';

/** What belongs to one directory of an agent: a supervisor, what it has written down, and the socket to it. */
interface Home {
  readonly computer: Computer;
  readonly socket: Socket;
  readonly supervisor: SimProcess;
}

function openHome(world: World, node: string, name: string): Home {
  const computer = new Computer(world, name);
  world.noteMachine(node, name);
  const socket = new Socket((order) => computer.ordered(order));
  const supervisor = world.addProcess(`supervisor-${name}`, async (life) => {
    const core = new Supervisor(
      {
        ...{
          machine: computer.machineOf(life),
          journal: computer.journalOf(life),
          env: world.actors.supervisorEnv(computer.envOf(life)),
        },
        onEvent: (event) => socket.toAgent(life, (mirror) => mirror.happened(event)),
      },
      pastRuns(computer.journal).values(),
    );
    socket.serve(life, core);
    await new Promise(() => undefined);
  });
  return { computer, socket, supervisor };
}

/** A machine with the real agent and the real supervisor on it, as two processes that crash each for itself. */
export function startMachineNode(
  world: World,
  servers: readonly SimProcess[],
  shape: NodeShape,
): MachineNode {
  return startNode(world, servers, shape, openHome(world, shape.name, shape.name));
}

/**
 * The same, with a second directory on another machine: `lose` has the agent live on there, under the same name and without
 * anything of the first, whose supervisor goes on with what it runs.
 */
export function startLosingNode(
  world: World,
  servers: readonly SimProcess[],
  shape: NodeShape,
): MachineNode & { lose(): void } {
  const [first, second] = [
    openHome(world, shape.name, shape.name),
    openHome(world, shape.name, `${shape.name}-anew`),
  ];
  const home = { ...first };
  const node = startNode(world, servers, shape, home);
  return {
    ...node,
    fencedRuns: () => first.computer.fencedRuns + second.computer.fencedRuns,
    lose: () => {
      Object.assign(home, second);
      node.agent.crash();
      node.agent.start();
    },
  };
}

function startNode(world: World, servers: readonly SimProcess[], shape: NodeShape, home: Home): MachineNode {
  const { name } = shape;
  const agent = world.addProcess(`agent-${name}`, async (life) => {
    const { computer, socket } = home;
    const env = computer.envOf(life);
    const mirror = new RunMirror((message) => socket.toSupervisor(life, message));
    await new Promise<void>((resolve) => socket.connect(life, mirror, resolve));
    const wheel = new Wheel(env);
    const jobsEnv = world.actors.jobsEnv(env);
    const jobsWheel = jobsEnv === env ? wheel : new Wheel(jobsEnv);
    const { isUnfenced: _, name: __, leaseSeconds: ___, ...offer } = shape;
    new NodeSession({
      streams: overheard(world, remoteStreams(world, life, servers)),
      driver: new KeptDriver({
        ...{ runners: [mirrorRunner(mirror, life.env, name)], env: jobsEnv, wheel: jobsWheel },
        caller: {
          ask: ({ path, timeoutMs }, answer) =>
            void env.after(timeoutMs, () => answer(path === neverPath ? 'not yet' : undefined)),
        },
        place: { node: name, region: shape.region ?? '', zone: shape.zone ?? '' },
      }),
      ...{ env, wheel, refusals: computer.refusals, onProblem: () => undefined },
      offer: {
        ...{ ...offer, node: name, capacity: offer.allocatable, agent: { fencing: 'Supported' } },
        journal: `disk of ${computer.name}`,
      },
    }).start();
    await new Promise(() => undefined);
  });
  const { computer, supervisor } = home;
  world.agents.set(name, agent);
  world.isIdle.set(name, () => agent.life === undefined && computer.isIdle);
  return {
    ...{ agent, supervisor, fencedRuns: () => computer.fencedRuns },
    reboot: () => {
      agent.crash();
      supervisor.crash();
      computer.reboot();
    },
    suspend: (ms) => {
      agent.life?.machine.suspend(ms);
      supervisor.life?.machine.suspend(ms);
    },
  };
}

/** The socket between an agent and its supervisor: in order both ways, and gone with either of them. */
class Socket {
  #server: { readonly life: Life; readonly core: Supervisor } | undefined;
  #client: { readonly life: Life; readonly mirror: RunMirror; readonly onWelcome: () => void } | undefined;
  readonly #up: RunOrder[] = [];
  readonly #down: ((mirror: RunMirror) => void)[] = [];

  constructor(private readonly onOrder: (order: RunOrder) => void) {}

  serve(life: Life, core: Supervisor): void {
    this.#server = { life, core };
    this.#meet();
  }

  connect(life: Life, mirror: RunMirror, onWelcome: () => void): void {
    this.#client = { life, mirror, onWelcome };
    this.#meet();
  }

  toSupervisor(from: Life, message: RunOrder): void {
    const server = this.#server;
    if (server === undefined || server.life.isOver || this.#client?.life !== from) return;
    this.#up.push(message);
    server.life.env.after(1, () => {
      const next = this.#server === server ? this.#up.shift() : undefined;
      if (next === undefined) return;
      this.onOrder(next);
      obey(server.core, next);
    });
  }

  toAgent(from: Life, tell: (mirror: RunMirror) => void): void {
    const client = this.#client;
    if (client === undefined || client.life.isOver || this.#server?.life !== from) return;
    this.#down.push(tell);
    client.life.env.after(1, () => {
      if (this.#client === client) this.#down.shift()?.(client.mirror);
    });
  }

  /** A new connection: what was on its way is lost, and the agent learns what there is. */
  #meet(): void {
    const { server, client } = { server: this.#server, client: this.#client };
    this.#up.length = 0;
    this.#down.length = 0;
    if (server === undefined || client === undefined || server.life.isOver || client.life.isOver) return;
    const runs = server.core.list();
    this.toAgent(server.life, (mirror) => {
      mirror.welcomed({ runs });
      client.onWelcome();
    });
  }
}
