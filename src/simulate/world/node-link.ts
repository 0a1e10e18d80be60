import type {
  NodeEars,
  NodeHears,
  NodeHello,
  NodeLine,
  NodeSays,
  NodeStreams,
} from '../../model/node-stream.js';
import type { Outcome } from '../../model/ports.js';
import type { Epoch } from '../../model/records.js';
import type { Life, SimProcess } from './sim-process.js';
import type { World } from './world.js';

const latencyMsMax = 8;
// A server takes a connection on which nothing arrives any more for dead.
const deadMs = 30_000;
const unanswered: Outcome<{ readonly epoch: Epoch }> = {
  kind: 'UnknownOutcome',
  message: 'no answer came in time',
};

/**
 * One connection of the simulated network: what is sent arrives late and in order, or, once it is cut, not at all. A
 * crash at either end is told to the other; a cut is not. A cut of one way ends what goes that way, for good: a
 * connection does not lose from its middle.
 */
class Link implements NodeLine {
  readonly #up: NodeSays[] = [];
  readonly #down: NodeHears[] = [];
  readonly #there: Life | undefined;
  #line: NodeLine | undefined;
  #isBroken = false;
  #isMute = false;
  #isDeaf = false;

  constructor(
    private readonly world: World,
    private readonly here: Life,
    private readonly to: SimProcess,
    hello: NodeHello,
    private readonly ears: NodeEars,
  ) {
    this.#there = to.life;
    this.#carryUp(() => {
      this.#line = world.nodeStreams(to)?.open(hello, {
        hear: (message) => this.#hear(message),
        hasRoom: () => true,
      });
      for (const message of this.#up.splice(0)) this.#line?.say(message);
    });
  }

  say(message: NodeSays): void {
    if (this.#line === undefined) {
      this.#up.push(message);
      return;
    }
    this.#up.push(message);
    this.#carryUp(() => {
      const next = this.#up.shift();
      if (next !== undefined) this.#line?.say(next);
    });
  }

  resume(): void {
    this.#line?.resume();
  }

  close(): void {
    this.#isBroken = true;
    // What cannot be said cannot be taken back either: the server finds out by itself.
    if (!this.#isMute) this.#line?.close();
  }

  #hear(message: NodeHears): void {
    this.#down.push(message);
    this.#carryDown(() => {
      const next = this.#down.shift();
      if (next !== undefined) this.ears.hear(next);
    });
  }

  #carryUp(deliver: () => void): void {
    const { member } = this.here;
    if (this.world.network.isOneWay(this.to, member) && !this.#isMute) this.#fallMute();
    if (!this.#isMute) this.#carry(this.#there, deliver);
  }

  #carryDown(deliver: () => void): void {
    this.#isDeaf ||= this.world.network.isOneWay(this.here.member, this.to);
    if (!this.#isDeaf) this.#carry(this.here, deliver);
  }

  /** Has something happen at the other end in a moment, unless the connection does not carry it. */
  #carry(at: Life | undefined, deliver: () => void): void {
    const { world, here, to } = this;
    const { random } = world.wire;
    if (this.#isBroken) return;
    if (here.isOver || at === undefined || to.life !== this.#there) return this.#reset();
    if (world.network.isParted(here.member, to)) return this.#fallSilent();
    if (world.faults.strikes('network.requestLost', random)) return this.#reset();
    at.env.after(1 + random.integer(latencyMsMax), () => {
      if (!this.#isBroken) deliver();
    });
  }

  /** An end is gone, or the connection was reset: both ends learn it. */
  #reset(): void {
    this.close();
    this.here.env.after(1, () => this.ears.hear({ kind: 'closed', message: 'the connection was reset' }));
  }

  #fallSilent(): void {
    this.#isBroken = true;
    this.#hangUpLater();
  }

  /** Nothing that the node says arrives any more. */
  #fallMute(): void {
    this.#isMute = true;
    this.#hangUpLater();
  }

  #hangUpLater(): void {
    this.world.wire.after(deadMs, () => this.#line?.close());
  }
}

/** The node streams of these servers, as a node reaches them over the network: each time whichever it finds. */
export const remoteStreams = (world: World, life: Life, servers: readonly SimProcess[]): NodeStreams => ({
  register: async (input) => {
    const to = life.env.random.pick(servers);
    const answer = await world.network.call(
      life,
      to,
      () => world.nodeStreams(to)?.register(input) ?? Promise.resolve(unanswered),
    );
    return answer ?? unanswered;
  },
  open: (hello, ears) => new Link(world, life, life.env.random.pick(servers), hello, ears),
});
