import { beforeEach, describe, expect, it } from 'vitest';
import { fenceContract } from '../../model/fence-contract.js';
import type { NodeHears, NodeStreams } from '../../model/node-stream.js';
import { noFaults } from './fault-plan.js';
import { remoteStreams } from './node-link.js';
import { deafen, mute, silence } from './silence.js';
import type { Life } from './sim-process.js';
import { World } from './world.js';

const cutMs = 60_000;

/** A server that notes what arrives and acknowledges every renewal, and an agent that notes what it hears. */
class Pair {
  readonly world = new World({ seed: 1, plan: noFaults });
  readonly arrived: number[] = [];
  readonly heard: number[] = [];
  readonly #never = (): Promise<void> => new Promise(() => undefined);
  readonly server = this.world.addProcess('server', async (life) => {
    this.world.streams.set(life, this.#streams);
    await this.#never();
  });
  readonly agent = this.world.addProcess('agent', this.#never);
  hangUps = 0;

  readonly #streams: NodeStreams = {
    register: () => Promise.reject(new Error('nobody registers here')),
    open: ({ id: first }, ears) => {
      const renewed = (id: number): void => {
        this.arrived.push(id);
        const answer: NodeHears = { kind: 'renewed', id, fence: fenceContract, renewSeconds: 5 };
        this.world.wire.after(1, () => ears.hear(answer));
      };
      renewed(first);
      return {
        say: ({ id }) => renewed(id),
        resume: () => undefined,
        close: () => void (this.hangUps += 1),
      };
    },
  };

  async start(): Promise<Life> {
    this.server.start();
    this.agent.start();
    await this.pass(10);
    const { life } = this.agent;
    if (life === undefined) throw new Error('the agent did not start');
    return life;
  }

  /** The agent's stream, on which the renewal 1 has been acknowledged. */
  async open() {
    const streams = remoteStreams(this.world, await this.start(), [this.server]);
    const line = streams.open(
      { node: 'n', epoch: { cell: 1, number: 1 }, id: 1 },
      {
        hear: (message) => void (message.kind === 'renewed' && this.heard.push(message.id)),
        hasRoom: () => true,
      },
    );
    await this.pass(100);
    return line;
  }

  pass(ms: number) {
    return this.world.time.run(this.world.time.nowMs + ms);
  }
}

describe('a cut of one way', () => {
  let pair: Pair;
  beforeEach(() => {
    pair = new Pair();
  });

  it.each([
    ['nobody is heard: nothing is served', mute, 0],
    ['nobody hears: it is served, and the caller does not learn it', deafen, 1],
    ['neither: nothing is served', silence, 0],
  ])('of a call, if %s', async (_, cut, servedWanted) => {
    const { world, server } = pair;
    const life = await pair.start();
    cut(world, 'agent', [server], cutMs);
    let served = 0;
    let answer: unknown = 'none yet';
    void world.network.call(life, server, async () => (served += 1)).then((value) => (answer = value));
    await pair.pass(20_000);
    expect({ served, answer }).toEqual({ served: servedWanted, answer: undefined });
  });

  it('down: renewals arrive and are not acknowledged, also on that stream when it is healed', async () => {
    const line = await pair.open();
    deafen(pair.world, 'agent', [pair.server], cutMs);
    line.say({ kind: 'renew', id: 2 });
    await pair.pass(cutMs + 1_000);
    line.say({ kind: 'renew', id: 3 });
    await pair.pass(1_000);
    expect(pair.arrived).toEqual([1, 2, 3]);
    expect(pair.heard).toEqual([1]);
    line.close();
    expect(pair.hangUps).toBe(1);
  });

  it('up: what the server had to say is heard, nothing arrives, and the server hangs up by itself', async () => {
    const line = await pair.open();
    line.say({ kind: 'renew', id: 2 });
    // It arrives, and its acknowledgement is sent when the cut is there.
    while (pair.arrived.length < 2) await pair.pass(1);
    mute(pair.world, 'agent', [pair.server], cutMs);
    line.say({ kind: 'renew', id: 3 });
    await pair.pass(100);
    expect(pair.arrived).toEqual([1, 2]);
    expect(pair.heard).toEqual([1, 2]);
    line.close();
    expect(pair.hangUps, 'a node that is not heard cannot take its leave').toBe(0);
    await pair.pass(cutMs);
    expect(pair.hangUps).toBe(1);
  });
});
